import type { Context, Handlers, Plan } from "#contract/operation.ts";
import type { Accepted } from "#contract/operation-entry.ts";
import type { UpdateCheck, updates } from "#contract/updates.ts";
import { DomainError, invalid, refuseAll } from "#domain/common/error.ts";
import { notShown } from "#domain/common/page.ts";
import { createPlan } from "#domain/common/plan.ts";
import {
  noProgress,
  type PackageManager,
  type PackageVersion,
  type TransactionPlan,
  type UpdateRequest,
} from "#domain/ports/packages.ts";
import { type FileState, type HostUpdates, isSnapshotId, type SnapshotReader } from "#domain/ports/snapshots.ts";
import type { FileSystems } from "#domain/ports/storage.ts";
import { type Clock, toNullableTimestamp } from "#kernel/clock.ts";
import { createSharedRun } from "#kernel/shared-run.ts";
import { defined } from "#kernel/values.ts";
import type { ApplyInput, TransactionInput } from "./apply-steps.ts";
import { changeTexts, doingOf, planFor } from "./change-plan.ts";
import { requireDiskSpace } from "./disk-space.ts";
import { type DowngradeRules, harmfulDowngrades, refuseDowngrades } from "./downgrades.ts";
import { isKernelPackage, requireReboot } from "./kernel-packages.ts";
import { notRefreshed, refusedAsInvalid } from "./refusals.ts";
import { returnTexts } from "./rollback.ts";
import { toSnapshot, wayBack } from "./snapshot.ts";
import { findStale, restartText, type StaleHost } from "./stale.ts";
import { requireSnapshot, type UpdateKind, type UpdateWork } from "./verbs.ts";

/** Runs work in a process that outlives this one. */
export interface LongWork {
  /**
   * Waits for the result, unless the caller prefers not to.
   * @throws DomainError: that of the work, or `CONFLICT` while other work of its kind runs.
   */
  readonly begin: <K extends UpdateKind>(
    kind: K,
    input: UpdateWork[K]["input"],
    context: Context,
    /** Refuses what is impossible before it is recorded; not called for a repeated request, nor for one that was planned right before. */
    check?: () => Promise<unknown>,
  ) => Promise<UpdateWork[K]["result"] | Accepted>;
}

const unsupported = (missing: string, message: string): DomainError =>
  new DomainError("UNAVAILABLE", message, { missing, retryable: false });
const noManager = "no package manager here is supported, or settings forbid it";
const noPackageManager = `cannot look for updates: ${noManager}`;

const noLists = "there are no package lists, so updates are not known (refresh=true fetches them)";

async function findUpdates(
  manager: PackageManager,
  clock: Pick<Clock, "now">,
  signal: AbortSignal,
): Promise<UpdateCheck> {
  const [{ updates: list, held, listsAt }, release, needs] = await Promise.all([
    manager.lists.updates(signal),
    manager.lists.release(signal),
    manager.restartNeeds(signal),
  ]);
  return {
    system: {
      available: release !== undefined,
      version: release?.version ?? "",
      release_date: release?.releaseDate ?? "",
      is_security: release?.isSecurity ?? false,
      changelog: release?.changelog ?? "",
    },
    packages: {
      total: list.length,
      security: list.filter(({ isSecurity }) => isSecurity).length,
      updates: list.map(({ name, architecture, from, to, isSecurity }) => ({
        name,
        architecture,
        current_version: from ?? "",
        new_version: to ?? "",
        is_security: isSecurity,
      })),
    },
    held: [...held],
    package_manager: manager.name,
    security_known: manager.capabilities.knowsSecurity,
    checked_at: toNullableTimestamp(listsAt),
    cache_age_seconds: listsAt === null ? null : Math.max(0, Math.floor((clock.now() - listsAt) / 1000)),
    requires_reboot: needs.requiresReboot,
    requires_restart: [...needs.units],
    ...notShown("packages", listsAt === null ? noLists : undefined),
  };
}

const namesOf = (lacks: readonly PackageVersion[]): readonly string[] =>
  [...new Set(lacks.map(({ name }) => name))].sort();

const lacking = (lacks: readonly PackageVersion[]): DomainError =>
  new DomainError(
    "UNAVAILABLE",
    `cannot roll all of it back: the files of these packages are not available: ${versionsOf(lacks)}; nothing was touched`,
    { missing: "package files", packages: [...namesOf(lacks)], retryable: false },
  );

/** Of versions that are to be returned to, the names of those that cannot be. */
async function findLacks(
  backend: SnapshotReader,
  changes: readonly Pick<TransactionPlan["changes"][number], "name" | "architecture" | "from">[],
  signal: AbortSignal,
): Promise<readonly PackageVersion[]> {
  const wanted = changes.flatMap(({ name, architecture, from }) =>
    from === null ? [] : [{ name, architecture, version: from }],
  );
  return wanted.length === 0 ? [] : backend.lacking(wanted, signal);
}

const versionsOf = (lacks: readonly PackageVersion[]): string =>
  lacks.map(({ name, version }) => `${name} ${version}`).join(", ");

export async function applyPlan(
  { manager, backend }: HostUpdates,
  { request, takesSnapshot, isGuarded, requiresFull = false, restartsStale = false }: TransactionInput,
  { rules, fileSystems }: { readonly rules: DowngradeRules; readonly fileSystems: FileSystems },
  signal: AbortSignal,
): Promise<Plan> {
  const planned = await refusedAsInvalid(() => planFor(manager, request, signal), doingOf(request));
  const { changes, downloadBytes } = planned;
  await requireDiskSpace(planned, { manager, backend, fileSystems, takesSnapshot }, signal);
  const hasSnapshot = takesSnapshot && changes.length > 0;
  const lacks = hasSnapshot ? await findLacks(backend, changes, signal) : [];
  if (lacks.length > 0 && (isGuarded || requiresFull)) throw lacking(lacks);
  const without = lacks.length > 0 ? [`, which cannot return ${versionsOf(lacks)}`] : [];
  const snapshot = hasSnapshot ? [`take a snapshot${without.join("")}`] : [];
  const watch = isGuarded && changes.length > 0 ? ["watch checks and units, and roll back if one is worse"] : [];
  const restart = restartsStale && changes.length > 0 ? ["restart services that then use replaced files"] : [];
  // A rollback is the update the other way round.
  const oneWay = isGuarded ? harmfulDowngrades(changes, rules) : [];
  const noWayBack = oneWay.map(({ name, reason }) => `not roll back by itself, because of ${name}: ${reason}`);
  return createPlan(
    [...snapshot, ...changeTexts(planned), ...restart, ...watch, ...noWayBack],
    {
      packages: changes.map(({ name }) => name),
      bytes: downloadBytes,
      ...(planned.diskBytes < 0 && { frees_bytes: -planned.diskBytes }),
      requires_reboot: requireReboot(changes.filter(({ name, to }) => to !== null || !isKernelPackage(name))),
      ...(hasSnapshot && wayBack(namesOf(lacks))),
    },
    { transaction: changeTexts(planned) },
  );
}

async function rollbackPlan(
  backend: SnapshotReader,
  { snapshotId, etc = "touched", allowDowngrade: allowed, partial: isPartial }: UpdateWork["updates.rollback"]["input"],
  rules: DowngradeRules,
  signal: AbortSignal,
): Promise<Plan> {
  const { packages, files } = await refusedAsInvalid(async () => {
    await backend.verify(snapshotId, signal);
    return backend.diff(snapshotId, signal);
  });
  refuseDowngrades(packages, { rules, allowed });
  const lacks = await findLacks(backend, packages, signal);
  if (lacks.length > 0 && isPartial !== true) throw lacking(lacks);
  const stays = ({ name, architecture, from }: (typeof packages)[number]): boolean =>
    lacks.some((each) => each.name === name && each.architecture === architecture && each.version === from);
  const returned = packages.filter((each) => !stays(each));
  const left = etc === "all" ? [] : files.filter(({ isForeign = false }) => isForeign);
  const restored = files.filter((file) => !left.includes(file));
  const plan = createPlan(
    ["verify the snapshot", "take a safety snapshot", ...returnTexts({ packages: returned, files: restored })],
    {
      packages: returned.map(({ name }) => name),
      requires_reboot: requireReboot(returned),
      ...wayBack(namesOf(lacks)),
    },
    { transaction: returnTexts({ packages, files }) },
  );
  const reason = `left alone, since something else than an update changed it: ${left.map(({ path }) => path).join(", ")}`;
  const reasons = [
    ...(left.length === 0 ? [] : [reason]),
    ...(lacks.length === 0 ? [] : [`not returned to, since their files are not available: ${versionsOf(lacks)}`]),
  ];
  return reasons.length === 0 ? plan : { ...plan, reason: reasons.join("; ") };
}

/** Undefined without a package manager that is supported. */
export type FindHost = () => Promise<HostUpdates | undefined>;

async function findSnapshot(host: FindHost, snapshotId: string, signal: AbortSignal) {
  // An invalid id is never looked up: it may be part of a path.
  if (!isSnapshotId(snapshotId))
    throw new DomainError("NOT_FOUND", "cannot find the snapshot: no snapshot has that id", {});
  return requireSnapshot((await host())?.backend, snapshotId, signal);
}

export async function managedHost(host: FindHost): Promise<HostUpdates> {
  const found = await host();
  if (found === undefined) throw unsupported("package manager", noPackageManager);
  return found;
}

function staleHandlers({
  stale,
  work,
}: {
  readonly stale: StaleHost;
  readonly work: LongWork;
}): Pick<Handlers<typeof updates>, "listStale" | "restartStale"> {
  const find = createSharedRun((signal) => findStale(stale, signal));
  return {
    listStale: (_input, context) => find(context.signal()),
    async restartStale({ query }, context) {
      if (!(query.dry_run ?? false)) return work.begin("updates.restart_stale", {}, context);
      const { restartable, left, requires_reboot: requiresReboot } = await find(context.signal());
      const reason = left.map((each) => `${each.unit} is left alone: ${each.reason}`).join("; ");
      const steps = restartable.map(restartText);
      const nothing = steps.length === 0 && reason === "" ? "no service runs replaced code" : undefined;
      const rest = defined({ reason: reason === "" ? nothing : reason });
      return createPlan(
        steps,
        { units: restartable, requires_reboot: requiresReboot, ...rest },
        { transaction: steps },
      );
    },
  };
}

const withoutSecurity = ({ name }: Pick<PackageManager, "name">): DomainError =>
  invalid("security_only", `${name} does not distinguish security updates from others`);
const withoutSnapshot = (): DomainError => invalid("guard", "A guarded update needs a snapshot to return to");

/** What has changed since a snapshot. */
function comparisons(host: FindHost): Pick<Handlers<typeof updates>, "diffSnapshot" | "diffSnapshotFile"> {
  return {
    async diffSnapshot({ params: { snapshot_id: snapshotId } }, context) {
      const signal = context.signal();
      const { backend } = await findSnapshot(host, snapshotId, signal);
      const { packages, files } = await refusedAsInvalid(() => backend.diff(snapshotId, signal));
      return {
        snapshot_id: snapshotId,
        packages: packages.map(({ name, from, to }) => ({ name, from, to })),
        files: files.map(({ path, change, isForeign = false }) => ({ path, change, foreign: isForeign })),
      };
    },

    async diffSnapshotFile({ params: { snapshot_id: snapshotId }, query: { path } }, context) {
      const signal = context.signal();
      const { backend } = await findSnapshot(host, snapshotId, signal);
      const found = await refusedAsInvalid(() => backend.compareFile(snapshotId, path, signal));
      if (found === undefined)
        throw new DomainError("NOT_FOUND", `cannot compare ${path}: neither the snapshot nor the host has it`, {});
      const state = (side: FileState | undefined) => side && { mode: null, ...side };
      return {
        snapshot_id: snapshotId,
        path,
        before: state(found.before) ?? null,
        after: state(found.after) ?? null,
        text: found.text ?? null,
        reason: found.reason ?? null,
      };
    },
  };
}

export function updatesHandlers(ports: {
  /** Called on demand: it takes a time. */
  readonly host: FindHost;
  readonly work: LongWork;
  readonly clock: Pick<Clock, "now">;
  readonly takesSnapshot: boolean;
  readonly stale: StaleHost;
  readonly rules: DowngradeRules;
  readonly fileSystems: FileSystems;
  readonly onChecked: (found: UpdateCheck) => void;
}): Handlers<typeof updates> {
  const { host, work, clock, onChecked } = ports;

  const managed = (): Promise<HostUpdates> => managedHost(host);

  // Two at a time would wait for each other's locks, and the second would find nothing new.
  const refresh = createSharedRun(async (signal) => {
    const { manager } = await managed();
    await refusedAsInvalid(() => manager.lists.refresh(noProgress, signal)).catch(notRefreshed);
  });

  return {
    async checkUpdates({ query }, context) {
      const { manager } = await managed();
      const signal = context.signal();
      if (query.refresh ?? false) {
        // A refresh changes files, so it is in the audit log, also when it fails.
        context.touched({ refresh: "true" });
        await refresh(signal);
      }
      const found = await findUpdates(manager, clock, signal);
      onChecked(found);
      return found;
    },

    async applyUpdates({ query, body }, context) {
      const updates = await managed();
      const { manager } = updates;
      const { type = "packages", security_only: isSecurityOnly = false, packages: names } = body;
      const { guard = false, restart_stale: restartsStale = false } = body;
      const { create_snapshot: snapshot = ports.takesSnapshot } = body;
      const takesSnapshot = snapshot !== false;
      const lacksSecurity = isSecurityOnly && !manager.capabilities.knowsSecurity;
      refuseAll([lacksSecurity && withoutSecurity(manager), guard && !takesSnapshot && withoutSnapshot()]);
      const request: UpdateRequest = { type, isSecurityOnly, names };
      const input: ApplyInput = {
        request,
        takesSnapshot,
        isGuarded: guard,
        ...(snapshot === "required" && { requiresFull: true }),
        ...(restartsStale && { restartsStale }),
      };
      if (query.dry_run ?? false) return applyPlan(updates, input, ports, context.signal());
      return work.begin("updates.apply", input, context, () =>
        refusedAsInvalid(() => manager.plan(request, context.signal())),
      );
    },

    ...staleHandlers(ports),

    async listSnapshots(_input, context) {
      const signal = context.signal();
      const found = await host();
      const snapshots = (await found?.backend.list(signal)) ?? [];
      return {
        snapshots: snapshots.toSorted((a, b) => (a.id < b.id ? 1 : -1)).map(toSnapshot),
        ...notShown("snapshots", found === undefined ? noManager : undefined),
      };
    },

    async getSnapshot({ params: { snapshot_id: snapshotId } }, context) {
      return toSnapshot((await findSnapshot(host, snapshotId, context.signal())).snapshot);
    },

    async createSnapshot({ query, body }, context) {
      const { description = "" } = body;
      if ((await host()) === undefined)
        throw unsupported("snapshots", "cannot take a snapshot: nothing on this host keeps any");
      if (query.dry_run ?? false) return createPlan(["take a snapshot"]);
      return work.begin("snapshots.create", { description }, context);
    },

    async deleteSnapshot({ params: { snapshot_id: snapshotId }, query }, context) {
      const { snapshot } = await findSnapshot(host, snapshotId, context.signal());
      if (query.dry_run ?? false)
        return createPlan([`delete the snapshot ${snapshotId}`], { frees_bytes: snapshot.sizeBytes });
      return work.begin("snapshots.delete", { snapshotId }, context);
    },

    ...comparisons(host),

    async rollback({ params: { snapshot_id: snapshotId }, query, body }, context) {
      const signal = context.signal();
      const { backend } = await findSnapshot(host, snapshotId, signal);
      const { etc, allow_downgrade: allowDowngrade, partial } = body;
      const input = { snapshotId, ...defined({ etc, allowDowngrade, partial }) };
      if (query.dry_run ?? false) return rollbackPlan(backend, input, ports.rules, signal);
      return work.begin("updates.rollback", input, context);
    },
  };
}
