import { appendFileSync, readFileSync } from "node:fs";
import { systemClock } from "#adapters/clock/index.ts";
import { startDetached } from "#adapters/exec/detached.ts";
import { exec } from "#adapters/exec/index.ts";
import { createOperationId } from "#adapters/operations/files.ts";
import { openOperationStore } from "#adapters/operations/index.ts";
import { createHostStopping, createTaskLauncher } from "#adapters/operations/launcher.ts";
import { ownProcess } from "#adapters/operations/process.ts";
import { createOperations } from "#domain/operations/operations.ts";
import type { OperationKinds } from "#domain/operations/state.ts";
import { runTask, type Verb } from "#domain/operations/task.ts";

// A service and its tasks, without all else:
//   node run-operations.ts start KIND INPUT   starts an operation, prints its id and looks after it until it is killed
//   node run-operations.ts look ID            the service, started again: waits for the operation and prints it
//   node run-operations.ts task run ID        what the service launches
// STEWARD_STATE_DIR is the state directory; STEWARD_TEST_DETACHED makes tasks child processes as where systemd does not run.
const [command = "", ...words] = process.argv.slice(2);
const stateDir = process.env["STEWARD_STATE_DIR"] ?? "";
const store = openOperationStore({ stateDir });
const kinds: OperationKinds = {
  count: { lock: "count", canGoOn: true },
  once: { lock: "once", canGoOn: false },
};
const onTrouble = (error: unknown): void => void process.stderr.write(`${String(error)}\n`);
const self = ownProcess();
const launcher = createTaskLauncher({
  exec,
  startDetached,
  stateDir,
  program: {
    argv: [process.execPath, import.meta.filename, "task", "run"],
    environment: { STEWARD_STATE_DIR: stateDir },
  },
  ...(process.env["STEWARD_TEST_DETACHED"] !== undefined && { hasSystemd: () => false }),
});

/** Writes the numbers up to `to` into a file, one at a time, and continues behind the last one that it saved. */
const count: Verb = async (input, { phase, savePhase, progress, signal }) => {
  const { to, file, stepMs } = input as { to: number; file: string; stepMs: number };
  for (let at = Number(phase ?? 0); at < to; at += 1) {
    progress.step((at / to) * 100, `number ${at}`);
    appendFileSync(file, `${at}\n`);
    savePhase(at + 1);
    progress.line(`wrote ${at}`);
    await systemClock.sleep(stepMs, signal);
    signal.throwIfAborted();
  }
  return { to, cgroup: readFileSync("/proc/self/cgroup", "utf8"), environment: process.env };
};

/** Runs a program that continues for a while, as a package manager does. */
const once: Verb = async (input) => {
  const { argv } = input as { argv: [string, ...string[]] };
  return exec(argv);
};

function startService() {
  const createId = () => createOperationId(Date.now());
  return createOperations({ store, launcher, clock: systemClock, createId, kinds, self, onTrouble });
}

switch (command) {
  case "start": {
    const [kind = "", input = "null"] = words;
    const operations = startService();
    const { spec } = operations.start({ kind, input: JSON.parse(input), keyId: null, idempotencyKey: null });
    process.stdout.write(`${spec.id}\n`);
    await operations.wait(spec.id, new AbortController().signal);
    break;
  }
  case "look": {
    const operations = startService();
    const [id = ""] = words;
    const operation = await operations.wait(id, AbortSignal.timeout(110_000));
    process.stdout.write(JSON.stringify({ ...operation, log: operations.log(id, 200) }));
    operations.dispose();
    break;
  }
  case "task": {
    const stop = new AbortController();
    process.once("SIGTERM", () => stop.abort());
    const id = words[1] ?? "";
    const verbs = { count, once };
    const isHostStopping = createHostStopping({ exec });
    const shared = { store, launcher, kinds, verbs, clock: systemClock, self, onTrouble, isHostStopping };
    await runTask({ ...shared, id, signal: stop.signal });
    break;
  }
  default:
    throw new Error(`cannot run ${command}: there is no such command`);
}
