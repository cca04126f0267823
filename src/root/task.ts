import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { answerAsk, leaveFailure } from "#adapters/operations/answering.ts";
import { readAskedOperations } from "#adapters/operations/asked.ts";
import { openForeignFolder } from "#adapters/operations/foreign-folder.ts";
import { openSharedOperationStore } from "#adapters/operations/index.ts";
import { isAlive } from "#adapters/operations/process.ts";
import { isAskId } from "#adapters/operations/record.ts";
import { openConfirmedPlugins, readEnabledPlugins } from "#adapters/plugins/index.ts";
import type { Config } from "#config/load.ts";
import { isUnsuccessful } from "#contract/operation-entry.ts";
import { rootOperations } from "#contract/root-tasks.ts";
import { ownSchemas } from "#contract/schema.ts";
import { DomainError } from "#domain/common/error.ts";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import { isFinished, stateOf } from "#domain/operations/state.ts";
import type { TaskOutcome } from "#domain/operations/task.ts";
import { rootSide } from "#domain/operations/two-sided.ts";
import type { OperationSpec, OperationStore } from "#domain/ports/operations.ts";
import type { EnabledPlugins } from "#domain/ports/plugins.ts";
import { errorSummary } from "#kernel/errors.ts";
import type { Logger } from "#telemetry/logger.ts";
import { toWire } from "./errors.ts";
import { carryName, places, safeModeName } from "./places.ts";
import { createRootRecord, type RecordRoot } from "./record.ts";

/** Records that root keeps of what has ended: longer, and more, than the service does, which would take a missing one for never begun. */
const keptOperations = 500;
const keptForMs = 90 * 24 * 60 * 60 * 1000;
const maxListBytes = 1024 * 1024;

const ajv = new Ajv(ownSchemas);
/** Of the closed list, with what that kind takes. */
function isAllowed({ kind, input }: Pick<OperationSpec, "kind" | "input">): boolean {
  const schema = new Map<string, object>(Object.entries(rootOperations)).get(kind);
  // Compiled once for each schema by ajv itself, and not before it is asked for: an ask needs none of them.
  return schema !== undefined && ajv.compile(schema)(input);
}

/** The number of a user, or of its group, by whatever the host knows users. @throws Error when there is none, or it is root's. */
async function numberOf(user: string, which: "-u" | "-g"): Promise<number> {
  const { exitCode, stdout, stderr } = await exec(["/usr/bin/id", which, "--", user]);
  const number = Number(stdout.trim());
  if (exitCode !== 0 || !Number.isSafeInteger(number) || stdout.trim() === "")
    throw new Error(`cannot tell who ${user} is: ${stderr.trim() || "id says nothing"}`);
  if (number === 0) throw new Error(`cannot do tasks for ${user}: that is root, or of its group`);
  return number;
}

function prune(store: OperationStore): void {
  const oldest = systemClock.now() - keptForMs;
  // By when they ended, which root has written: how old an ask says it is would be for who asks to choose.
  const ended = store.ids().flatMap((id) => {
    const stored = store.read(id);
    if (stored === undefined || !isFinished(stateOf(stored).status)) return [];
    return [{ id, atMs: stored.state?.finishedAt ?? 0 }];
  });
  for (const [at, { id, atMs }] of ended.toSorted((a, b) => b.atMs - a.atMs).entries()) {
    if (at >= keptOperations || atMs < oldest) store.remove(id);
  }
}

/**
 * The service does one operation at a time, but what keeps it to that is its own: of two that were started beside each other at
 * least one sees the other, since each has its claim by now.
 */
function requireAlone(store: OperationStore, id: string): void {
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

/** Which plugins the service has enabled: to be run only as what root itself finds in folders of its own. */
function enabledPlugins(uid: number, log: Logger): EnabledPlugins {
  const refuse = (): never => {
    throw new Error("cannot change which plugins are enabled: the service does");
  };
  const folder = openForeignFolder(places.stateDir, [], { uid });
  try {
    const text = folder?.text("enabled.json", { maxBytes: maxListBytes });
    const plugins = text === undefined ? [] : readEnabledPlugins(text);
    return { all: () => plugins, save: refuse, remove: refuse };
  } catch (error) {
    log.warn({ err: error }, "cannot read the list of enabled plugins; none is enabled");
    return { all: () => [], save: refuse, remove: refuse };
  } finally {
    folder?.close();
  }
}

/** Whether the service was started without plugins, which root then leaves alone as well. */
function isServiceInSafeMode(uid: number): boolean {
  const folder = openForeignFolder(places.runDir, [], { uid });
  try {
    return folder?.has(safeModeName) ?? false;
  } finally {
    folder?.close();
  }
}

/** Answers a request. Whatever becomes of it, root's record has the id: who asked counts on that. */
async function answerRequest(
  id: string,
  ports: {
    readonly uid: number;
    readonly config: Config;
    readonly log: Logger;
    readonly record: RecordRoot;
    readonly isAdmitted: boolean;
  },
): Promise<TaskOutcome> {
  const { uid, config, log, record, isAdmitted } = ports;
  const { createRootAnswers } = await import("./answers.ts");
  const respond = createRootAnswers({ config, exec, log, record });
  const fail = (message: string) => ({ error: { kind: "Error", message } });
  let isTaken = false;
  try {
    const isAnswered = await answerAsk(id, {
      places,
      uid,
      clock: systemClock,
      isAdmitted,
      busy: fail("too much is asked at the same time (try again)"),
      tooLong: fail("the answer is too long"),
      respond({ text, cancelled }) {
        isTaken = true;
        return respond(id, text, cancelled);
      },
    });
    if (!isTaken) record({ id, request: "", phase: "left" });
    return isAnswered ? "done" : "left";
  } catch (error) {
    if (!isTaken) record({ id, request: "", phase: "refused", error: errorSummary(error) });
    throw error;
  }
}

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

/**
 * What `steward-task@<id>.service` does as root for a service without rights: an operation that was written down, or an ask that
 * is answered. Whoever starts it decides only that there is something to look at: what is done is read anew, checked against the
 * closed list, and from then on root's own.
 */
export async function runRootTask(
  id: string,
  user: string,
  config: Config,
  {
    version,
    log,
    isSafeMode,
    writeRecord,
    isAdmitted,
  }: {
    readonly version: string;
    readonly log: Logger;
    readonly isSafeMode: boolean;
    /** Writes a line of root's record before it returns. */
    readonly writeRecord: (line: string) => void;
    /** Whether it has a place among the tasks that are worked on. */
    readonly isAdmitted: boolean;
  },
): Promise<TaskOutcome> {
  if (process.getuid?.() !== 0) throw new Error("cannot do tasks for others: this is not root");
  const uid = await numberOf(user, "-u");
  const record = createRootRecord({ write: writeRecord, clock: systemClock });
  if (isAskId(id)) return answerRequest(id, { uid, config, log, record, isAdmitted });
  try {
    return await runRecorded(id, record, async (around) => {
      if (!isAdmitted) throw new Error(`cannot do ${id}: too many operations are asked for at the same time`);
      writeFileSync(join(places.answersDir, carryName), "");
      const own = openSharedOperationStore({ stateDir: places.tasksDir });
      const asked = readAskedOperations({ stateDir: places.stateDir, uid, isAllowed });
      const { runOperation } = await import("#app/operation.ts");
      try {
        return await runOperation(id, config, {
          version,
          log,
          isSafeMode: isSafeMode || isServiceInSafeMode(uid),
          store: rootSide(own, asked),
          around: (kind, input, work) =>
            around(kind, input, () => {
              requireAlone(own, id);
              return work();
            }),
          enabled: enabledPlugins(uid, log),
          confirmed: openConfirmedPlugins(places.confirmedDir),
          pluginUser: { uid, gid: await numberOf(user, "-g") },
        });
      } finally {
        prune(own);
      }
    });
  } catch (error) {
    if (findUnavailable(error) !== undefined) leaveFailure(id, { error: toWire(error) }, places);
    throw error;
  }
}
