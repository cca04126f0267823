import type { PackagesChanged } from "#contract/package-changes.ts";
import type { RemovedSnapshot, RollbackReport, Snapshot, StaleRestart, UpdateApply } from "#contract/updates.ts";
import { DomainError } from "#domain/common/error.ts";
import type { ChangeRequest, ConfigFiles, PackageManager } from "#domain/ports/packages.ts";
import type { SnapshotBackend, StoredSnapshot } from "#domain/ports/snapshots.ts";
import type { FileSystems } from "#domain/ports/storage.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { applyUpdates } from "./apply.ts";
import type { ApplyInput, ApplyPhase } from "./apply-steps.ts";
import type { HostCondition } from "./condition.ts";
import type { DowngradeRules } from "./downgrades.ts";
import type { GuardTimes } from "./guard.ts";
import type { NewErrors } from "./new-errors.ts";
import { refusedAsInvalid } from "./refusals.ts";
import { type RollbackInput, type RollbackPhase, rollBack, type Work } from "./rollback.ts";
import { expired, freeSnapshotId, toSnapshot } from "./snapshot.ts";
import { type RestartPhase, restartStale, type StaleHost } from "./stale.ts";

export interface UpdateWork {
  readonly "updates.apply": {
    readonly input: ApplyInput;
    readonly phase: ApplyPhase;
    readonly result: UpdateApply;
  };
  readonly "packages.change": {
    readonly input: ApplyInput<ChangeRequest>;
    readonly phase: ApplyPhase;
    readonly result: PackagesChanged;
  };
  readonly "updates.rollback": {
    readonly input: RollbackInput;
    readonly phase: RollbackPhase;
    readonly result: RollbackReport;
  };
  readonly "snapshots.create": {
    readonly input: { readonly description: string };
    readonly phase: { readonly snapshotId: string };
    readonly result: Snapshot;
  };
  readonly "snapshots.delete": {
    readonly input: { readonly snapshotId: string };
    readonly phase: never;
    readonly result: RemovedSnapshot;
  };
  readonly "updates.restart_stale": {
    readonly input: Readonly<Record<never, never>>;
    readonly phase: RestartPhase;
    readonly result: StaleRestart;
  };
}
export type UpdateKind = keyof UpdateWork;

/** All of them share a lock, since they change packages or snapshots, or depend on them; `canGoOn`: it is resumed when its process is gone. */
export const updateKinds = {
  "updates.apply": { lock: "packages", canGoOn: true },
  "packages.change": { lock: "packages", canGoOn: true },
  "updates.rollback": { lock: "packages", canGoOn: true },
  "snapshots.create": { lock: "packages", canGoOn: true },
  "snapshots.delete": { lock: "packages", canGoOn: false },
  "updates.restart_stale": { lock: "packages", canGoOn: true },
} as const satisfies Readonly<Record<UpdateKind, { readonly lock: string; readonly canGoOn: boolean }>>;

export type UpdateVerbs = {
  readonly [K in UpdateKind]: (
    input: UpdateWork[K]["input"],
    work: Work<UpdateWork[K]["phase"]>,
  ) => Promise<UpdateWork[K]["result"]>;
};

export interface UpdateWorkPorts {
  readonly manager: PackageManager;
  readonly backend: SnapshotBackend;
  readonly condition: HostCondition;
  readonly newErrors: NewErrors;
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  readonly guard: GuardTimes;
  readonly configFiles: ConfigFiles;
  readonly keepSnapshots: number;
  readonly stale: StaleHost;
  /** What a rollback must not downgrade. */
  readonly rules: DowngradeRules;
  readonly fileSystems: FileSystems;
}

/** @throws DomainError `NOT_FOUND`. */
export async function requireSnapshot<Backend extends Pick<SnapshotBackend, "list">>(
  backend: Backend | undefined,
  snapshotId: string,
  signal: AbortSignal,
): Promise<{ readonly backend: Backend; readonly snapshot: StoredSnapshot }> {
  const snapshot = (await backend?.list(signal))?.find(({ id }) => id === snapshotId);
  if (backend !== undefined && snapshot !== undefined) return { backend, snapshot };
  throw new DomainError("NOT_FOUND", `cannot find the snapshot ${snapshotId}`, { snapshot_id: snapshotId });
}

const keptForMs = 90 * 24 * 60 * 60 * 1000;

const noPackages = (): Promise<never> =>
  Promise.reject(
    new DomainError("UNAVAILABLE", "cannot do anything with packages: this host has no package manager", {
      missing: "package manager",
      retryable: false,
    }),
  );

/** What a host without a package manager can do. */
export const verbsWithoutPackages = (stale: StaleHost): UpdateVerbs => ({
  "updates.apply": noPackages,
  "packages.change": noPackages,
  "updates.rollback": noPackages,
  "snapshots.create": noPackages,
  "snapshots.delete": noPackages,
  "updates.restart_stale": (_, work) => restartStale(stale, work),
});

export function updateVerbs(ports: UpdateWorkPorts): UpdateVerbs {
  const { manager, backend, clock } = ports;

  type Reporting = Pick<Work<never>, "progress" | "signal">;

  /** A failure to remove something must not lose the result: it is tried again next time. */
  const orReport = async ({ progress }: Reporting, what: string, change: () => Promise<void>): Promise<void> => {
    try {
      await change();
    } catch (error) {
      progress.line(`cannot remove ${what}: ${errorMessage(error)}`);
    }
  };

  /** Removes leftovers of interrupted rollbacks; the lock excludes that another one is running. */
  const tidy = async (work: Reporting): Promise<void> => {
    const settle = (id: string): Promise<void> => manager.transactions.settle(id, work.signal);
    await orReport(work, "leftovers of rollbacks", () => backend.tidy(settle, work.signal));
  };

  /** Removes expired snapshots but for those in the result, and leftovers. */
  const removeExpired = async (work: Reporting, named: readonly string[]): Promise<void> => {
    const { signal } = work;
    const retention = { count: ports.keepSnapshots, ageMs: keptForMs, nowMs: clock.now() };
    await orReport(work, "old snapshots", async () => {
      for (const { id } of expired(await backend.list(signal), retention)) {
        if (!named.includes(id)) await orReport(work, `snapshot ${id}`, () => backend.remove(id, signal));
      }
    });
    await tidy(work);
  };

  return {
    ...verbsWithoutPackages(ports.stale),
    "updates.apply": async (input, work) => {
      const result = await applyUpdates(input, ports, work);
      await removeExpired(work, [result.snapshot_id]);
      return result;
    },
    "packages.change": async (input, work) => {
      const { packages_updated: changed, ...result } = await applyUpdates(input, ports, work);
      await removeExpired(work, [result.snapshot_id]);
      return { ...result, packages_changed: changed };
    },
    "updates.rollback": async (input, work) => {
      const { snapshotId } = input;
      const doIt = async (): Promise<RollbackReport> => {
        const found = await requireSnapshot(backend, snapshotId, work.signal);
        return refusedAsInvalid(() => rollBack(input, { ...ports, backend: found.backend }, work));
      };
      const result = work.phase?.result ?? (await doIt());
      // Cleaning up removes the former state: a process that is killed meanwhile still has the result.
      work.savePhase({ safetySnapshotId: result.safety_snapshot_id, result });
      await removeExpired(work, [snapshotId, result.safety_snapshot_id]);
      return result;
    },
    "snapshots.create": async ({ description }, work) => {
      const { phase, progress, signal } = work;
      const id = phase?.snapshotId ?? (await freeSnapshotId(backend, clock, signal));
      work.savePhase({ snapshotId: id });
      const taken = (await backend.list(signal)).find((each) => each.id === id);
      const create = async (): Promise<StoredSnapshot> => {
        // Pending updates are what changes next: their current package files are available only now.
        const { updates: changes } = await manager.lists.updates(signal);
        return backend.create({ id, description, kind: "manual", changes, progress }, signal);
      };
      const snapshot = taken ?? (await refusedAsInvalid(create));
      work.pointOfNoReturn?.();
      await removeExpired(work, [snapshot.id]);
      return toSnapshot(snapshot);
    },
    "snapshots.delete": async ({ snapshotId }, work) => {
      const found = await requireSnapshot(backend, snapshotId, work.signal);
      work.pointOfNoReturn?.();
      await found.backend.remove(snapshotId, work.signal);
      await tidy(work);
      return { success: true, message: `snapshot ${snapshotId} deleted`, snapshot_id: snapshotId };
    },
  };
}

type TaskVerb = (input: unknown, work: Work<unknown>) => Promise<unknown>;

/** The verbs for the runner of operations, which does not know the types of their inputs. */
export function asVerbs(verbs: UpdateVerbs): Readonly<Record<string, TaskVerb>> {
  const asVerb =
    <K extends UpdateKind>(kind: K): TaskVerb =>
    (input, { phase, ...work }) =>
      // The input was checked before it was recorded.
      verbs[kind](input as Parameters<UpdateVerbs[K]>[0], {
        ...work,
        phase: (phase ?? undefined) as Parameters<UpdateVerbs[K]>[1]["phase"],
      });
  return Object.fromEntries((Object.keys(updateKinds) as UpdateKind[]).map((kind) => [kind, asVerb(kind)]));
}
