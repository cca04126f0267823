import { createFileSystems } from "#adapters/procfs/file-systems.ts";
import type { PartContext } from "#app/part.ts";
import { createHostUpdates, createStaleHost } from "#app/updates.ts";
import { Accepted } from "#contract/operation-entry.ts";
import type { UpdateApply } from "#contract/updates.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { allows } from "#domain/access/scopes.ts";
import { beginOperation } from "#domain/operations/handlers.ts";
import type { Operations } from "#domain/operations/operations.ts";
import { type PackagePorts, packagesHandlers } from "#domain/packages/handlers.ts";
import type { HostUpdates, SnapshotReader } from "#domain/ports/snapshots.ts";
import type { FileSystems } from "#domain/ports/storage.ts";
import { downgradeRules } from "#domain/updates/downgrades.ts";
import { type LongWork, updatesHandlers } from "#domain/updates/handlers.ts";
import { requireConsent, withAskingSteps } from "#domain/updates/hooks.ts";
import { packageChangeHandlers } from "#domain/updates/package-changes.ts";
import { packageHoldHandlers } from "#domain/updates/package-holds.ts";
import { createSecurityUpdater } from "#domain/updates/security.ts";
import type { StaleHost } from "#domain/updates/stale.ts";
import type { UpdateKind, UpdateWork } from "#domain/updates/verbs.ts";
import { lazy } from "#kernel/async.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import type { RootSide } from "#root/request.ts";
import { managerThroughRoot, snapshotsThroughRoot, throughRoot } from "#root/through-root.ts";
import type { HostPart, TracesPart } from "./host.ts";
import type { HookPoints } from "./plugins.ts";

function requireEnded<T>(answer: T | Accepted): T {
  if (answer instanceof Accepted) throw new Error("cannot wait for an operation that was only accepted");
  return answer;
}

interface Earlier {
  readonly traces: Pick<TracesPart, "traced">;
  readonly rootSide: RootSide | undefined;
  readonly host: Pick<HostPart, "open">;
  readonly operations: { readonly operations: Operations };
  readonly hookPoints: Pick<HookPoints, "hooks" | "loaded">;
}

interface UpdateAdapters {
  /** What reads packages, also where nothing may change them. */
  readonly manager: PackagePorts["manager"];
  /** What changes packages and rolls back; undefined where that is impossible or forbidden. */
  readonly updates: () => Promise<HostUpdates | undefined>;
  readonly stale: StaleHost;
  readonly fileSystems: FileSystems;
}

function openUpdates({ config, clock }: PartContext, { traces, rootSide, host }: Earlier): UpdateAdapters {
  const { packages, systemd } = host.open();
  const stale = createStaleHost(systemd.units);
  const code = throughRoot(stale.code, rootSide, (request) => ({
    find: (signal) => request("stale.find", {}, signal),
  }));
  const openUpdates = (): HostUpdates | undefined => {
    const found = createHostUpdates({ ...config, exec: traces.traced.exec }, packages);
    if (found === undefined) return undefined;
    return {
      manager: throughRoot(found.manager, rootSide, (request) => managerThroughRoot(found.manager, request, clock)),
      backend: throughRoot<SnapshotReader>(found.backend, rootSide, snapshotsThroughRoot),
    };
  };
  return {
    manager: () => Promise.resolve(packages),
    updates: lazy(() => Promise.resolve(openUpdates())),
    stale: { ...stale, code },
    fileSystems: createFileSystems({ clock }),
  };
}

/** Begins operations: for a call, or for the service itself. */
function createBeginning({ clock }: PartContext, { operations: { operations }, hookPoints }: Earlier) {
  const { hooks, loaded } = hookPoints;
  const consent = async <K extends UpdateKind>(
    kind: K,
    input: UpdateWork[K]["input"],
    keyId: string | null,
  ): Promise<void> => {
    // Hooks that are still being loaded count.
    await loaded;
    await requireConsent(hooks, kind, input, keyId);
  };
  const work: LongWork = {
    async begin(kind, input, context, check) {
      const { caller, signal, touched } = context;
      const options = {
        prefersAsync: context.prefersAsync(),
        waitMs: context.prefersWaitMs(),
        idempotencyKey: context.idempotencyKey(),
      };
      const planned = context.planned();
      const ask = async (): Promise<void> => {
        planned?.requireUnchanged();
        // What was planned by this very call a short time ago is possible.
        if (planned === undefined) await check?.();
        await consent(kind, input, caller?.keyId ?? null);
      };
      const asked = { kind, input, ...defined({ planned: planned?.transaction }) };
      const by = { caller, signal, touched, clock, ...options };
      return beginOperation<UpdateWork[typeof kind]["result"]>(operations, asked, by, ask);
    },
  };
  const begin = async (
    work: { readonly input: UpdateWork["updates.apply"]["input"]; readonly planned?: readonly string[] },
    by: Pick<Parameters<typeof beginOperation>[2], "touched" | "signal" | "idempotencyKey">,
  ): Promise<UpdateApply> => {
    const kind = "updates.apply";
    const options = { ...by, clock, caller: undefined, prefersAsync: false };
    return requireEnded(
      await beginOperation<UpdateApply>(operations, { kind, ...work }, options, () => consent(kind, work.input, null)),
    );
  };
  return { work, begin };
}

/** Packages: what is installed, their updates and snapshots. */
export function updatesPart(context: PartContext, earlier: Earlier, adapters = openUpdates(context, earlier)) {
  const { config, clock, metrics } = context;
  const { operations } = earlier.operations;
  const { hooks } = earlier.hookPoints;
  const { manager, updates: host, stale, fileSystems } = adapters;
  const { snapshot: takesSnapshot = true, no_downgrade: noDowngrade } = config.settings.updates ?? {};
  const rules = downgradeRules(noDowngrade);
  const { work, begin } = createBeginning(context, earlier);
  const handlers = updatesHandlers({
    host,
    work,
    clock,
    takesSnapshot,
    stale,
    rules,
    fileSystems,
    onChecked({ packages: { total, security: ofSecurity }, security_known: isKnown, checked_at: listsAt }) {
      // Without lists nobody knows.
      if (listsAt === null) return;
      metrics.updatesAvailable("all", total);
      if (isKnown) metrics.updatesAvailable("security", ofSecurity);
    },
  });
  const rights = { covers: allows, lackOf: scopeLack };
  const automaticKey = (windowOpenedAt: number): string => `automatic ${toTimestamp(windowOpenedAt)}`;
  return {
    handlers: {
      ...withAskingSteps(handlers, hooks),
      ...packageChangeHandlers({ host, work, takesSnapshot, rules, fileSystems, hooks, rights }),
      ...packageHoldHandlers({ host, rights }),
      ...packagesHandlers({
        manager,
        maySee: (caller, name) => allows(caller?.scopes ?? [], "packages:read", name),
        seesAll: (caller) => allows(caller?.scopes ?? [], "packages:read"),
      }),
    },
    host,
    snapshotTime: async (id: string, signal: AbortSignal): Promise<number | undefined> => {
      const snapshots = await (await host())?.backend.list(signal);
      return snapshots?.find((snapshot) => snapshot.id === id)?.createdAt;
    },
    automatic: {
      apply: (input: UpdateWork["updates.apply"]["input"], windowOpenedAt: number, signal: AbortSignal) =>
        begin(
          { input },
          {
            touched: () => undefined,
            signal: () => signal,
            idempotencyKey: automaticKey(windowOpenedAt),
          },
        ),
      hasStarted: (windowOpenedAt: number): boolean =>
        operations
          .list()
          .some(({ spec }) => spec.keyId === null && spec.idempotencyKey === automaticKey(windowOpenedAt)),
    },
    security: createSecurityUpdater({
      host,
      takesSnapshot,
      apply: (work, signal, onOperation) =>
        begin(work, {
          touched: ({ operation_id: id = "" }) => onOperation(id),
          signal: () => signal,
          idempotencyKey: undefined,
        }),
    }),
  };
}

export type UpdatesPart = ReturnType<typeof updatesPart>;
