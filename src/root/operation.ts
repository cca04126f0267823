import { Ajv } from "ajv";
import { systemClock } from "#adapters/clock/index.ts";
import { openForeignDirectory } from "#adapters/operations/foreign-directory.ts";
import { openSharedOperationStore } from "#adapters/operations/index.ts";
import { isAlive } from "#adapters/operations/process.ts";
import { readRequestedOperations } from "#adapters/operations/requested-operations.ts";
import { openConfirmedPlugins, readEnabledPlugins } from "#adapters/plugins/index.ts";
import { isUnsuccessful } from "#contract/operation-entry.ts";
import { ownSchemas } from "#contract/schema.ts";
import { DomainError } from "#domain/common/error.ts";
import { isFinished, stateOf } from "#domain/operations/state.ts";
import type { TaskOutcome } from "#domain/operations/task.ts";
import { rootSide } from "#domain/operations/two-sided.ts";
import type { OperationSpec, OperationStore } from "#domain/ports/operations.ts";
import type { ConfirmedPlugins, EnabledPlugins } from "#domain/ports/plugins.ts";
import { errorSummary } from "#kernel/errors.ts";
import type { Logger } from "#telemetry/logger.ts";
import { places, safeModeName } from "./places.ts";
import type { RecordRoot } from "./record.ts";
import { rootOperations } from "./tasks.ts";

/** Records that root keeps of what has ended: longer, and more, than the service does, which would take a missing one for never started. */
const keptOperations = 500;
const keptForMs = 90 * 24 * 60 * 60 * 1000;
const maxListBytes = 1024 * 1024;

const ajv = new Ajv(ownSchemas);
function isAllowed({ kind, input }: Pick<OperationSpec, "kind" | "input">): boolean {
  const schema = new Map<string, object>(Object.entries(rootOperations)).get(kind);
  return schema !== undefined && ajv.compile(schema)(input);
}

function prune(store: OperationStore): void {
  const oldest = systemClock.now() - keptForMs;
  // By when they ended, which root has written; how old an operation says it is the service chooses.
  const ended = store.ids().flatMap((id) => {
    const stored = store.read(id);
    if (stored === undefined || !isFinished(stateOf(stored).status)) return [];
    return [{ id, atMs: stored.state?.finishedAt ?? 0 }];
  });
  for (const [at, { id, atMs }] of ended.toSorted((a, b) => b.atMs - a.atMs).entries()) {
    if (at >= keptOperations || atMs < oldest) store.remove(id);
  }
}

/** Of two that were started together at least one sees the other, since each has its claim by now. */
export function requireAlone(store: OperationStore, id: string): void {
  for (const other of store.ids()) {
    if (other === id) continue;
    const stored = store.read(other);
    if (stored?.claim === undefined || isFinished(stateOf(stored).status) || !isAlive(stored.claim.process)) continue;
    throw new DomainError("CONFLICT", `cannot do ${id}: ${other} is being done (try again when it is done)`, {
      operation_id: other,
      retryable: true,
    });
  }
}

/** Which plugins the service has enabled: to be run only as what root itself finds in directories of its own. */
function enabledPlugins(uid: number, log: Logger): EnabledPlugins {
  const refuse = (): never => {
    throw new Error("cannot change which plugins are enabled: the service does");
  };
  const directory = openForeignDirectory(places.stateDir, [], { uid });
  try {
    const text = directory?.text("enabled.json", { maxBytes: maxListBytes });
    const plugins = text === undefined ? [] : readEnabledPlugins(text);
    return { all: () => plugins, save: refuse, remove: refuse };
  } catch (error) {
    log.warn({ err: error }, "cannot read the list of enabled plugins; none is enabled");
    return { all: () => [], save: refuse, remove: refuse };
  } finally {
    directory?.close();
  }
}

/** Whether the service was started without plugins, which root then leaves alone as well. */
function isServiceInSafeMode(uid: number): boolean {
  const directory = openForeignDirectory(places.runDir, [], { uid });
  try {
    return directory?.has(safeModeName) ?? false;
  } finally {
    directory?.close();
  }
}

export type RunOperation = (
  id: string,
  parts: {
    readonly version: string;
    readonly log: Logger;
    readonly isSafeMode: boolean;
    readonly store: OperationStore;
    readonly around: Around;
    readonly enabled: EnabledPlugins;
    readonly confirmed: ConfirmedPlugins;
    readonly pluginUser: { readonly uid: number; readonly gid: number };
  },
) => Promise<TaskOutcome>;

type Around = (kind: string, input: unknown, work: () => Promise<unknown>) => Promise<unknown>;

/** Does an operation, each attempt of which is in root's record, and so is that there was nothing to do. */
async function runRecorded(
  id: string,
  record: RecordRoot,
  run: (around: Around) => Promise<TaskOutcome>,
): Promise<TaskOutcome> {
  let isRecorded = false;
  const around: Around = async (kind, input, work) => {
    isRecorded = true;
    record({ id, request: kind, phase: "begun", input });
    try {
      const result = await work();
      record({ id, request: kind, phase: isUnsuccessful(result) ? "failed" : "done" });
      return result;
    } catch (error) {
      record({ id, request: kind, phase: "failed", error: errorSummary(error) });
      throw error;
    }
  };
  try {
    const outcome = await run(around);
    if (!isRecorded) record({ id, request: "", phase: "left" });
    return outcome;
  } catch (error) {
    if (!isRecorded) record({ id, request: "", phase: "left", error: errorSummary(error) });
    throw error;
  }
}

/** Read from the service's record, checked against the closed list. The end of the service does not end it. */
export function runRootOperation(
  id: string,
  ports: {
    readonly run: RunOperation;
    readonly uid: number;
    readonly gid: number;
    readonly version: string;
    readonly log: Logger;
    readonly isSafeMode: boolean;
    readonly record: RecordRoot;
  },
): Promise<TaskOutcome> {
  const { uid, gid, version, log, record } = ports;
  return runRecorded(id, record, async (around) => {
    const own = openSharedOperationStore({ stateDir: places.tasksDir });
    const asked = readRequestedOperations({ stateDir: places.stateDir, uid, isAllowed });
    try {
      return await ports.run(id, {
        version,
        log,
        isSafeMode: ports.isSafeMode || isServiceInSafeMode(uid),
        store: rootSide(own, asked),
        around: (kind, input, work) =>
          around(kind, input, () => {
            requireAlone(own, id);
            return work();
          }),
        enabled: enabledPlugins(uid, log),
        confirmed: openConfirmedPlugins(places.confirmedDir),
        pluginUser: { uid, gid },
      });
    } finally {
      prune(own);
    }
  });
}
