import { parseArgs } from "node:util";
import { exec } from "#adapters/exec/index.ts";
import { createHostChecks, type HostChecks } from "#app/checks.ts";
import { openHost, openPackageManager } from "#app/host.ts";
import { runOperation } from "#app/operation.ts";
import { pluginDirectoriesOf } from "#app/plugins.ts";
import { untraced } from "#app/tracing/tracing.ts";
import { createHostUpdates } from "#app/updates.ts";
import { cleanIo, exitCode, ioOfProcess } from "#cli/output/output.ts";
import type { Environment } from "#config/defaults.ts";
import type { Config } from "#config/load.ts";
import { safeModeVariable } from "#config/places.ts";
import type { TaskOutcome } from "#domain/operations/task.ts";
import { errorMessage } from "#kernel/errors.ts";
import { serviceUnit } from "#root/places.ts";
import { serveRequest } from "#root/serve-request.ts";
import { openLogs, setProcessName } from "./daemon.ts";
import { loadRootSettings, loadSettings } from "./load-settings.ts";

interface TaskOptions {
  readonly version: string;
  readonly environment: Environment;
}

/** @throws Error for other arguments. */
export function parseTask(argv: readonly string[]): { readonly id: string; readonly askedBy: string | undefined } {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { "asked-by": { type: "string" } },
    allowPositionals: true,
  });
  const [verb, id, ...more] = positionals;
  if (verb !== "run" || id === undefined || more.length > 0)
    throw new Error("cannot do a task: expected run [--asked-by USER] ID");
  return { id, askedBy: values["asked-by"] };
}

/** What root's side runs its tasks on: the same as the service's, put together when a task asks for it, by root's own settings. */
const createRootHost = (config: Config) => ({
  updates: () => createHostUpdates({ ...config, exec }, openPackageManager({ exec, stateDir: config.stateDir })),
  pluginDirectories: () => pluginDirectoriesOf(config.settings),
  async withChecks<T>(use: (checks: HostChecks) => Promise<T>): Promise<T> {
    const host = openHost(config.settings, untraced);
    try {
      const parts = { config, host, exec: untraced.exec, certificatePaths: () => [], ownUnit: serviceUnit };
      return await use(createHostChecks(parts));
    } finally {
      host.dispose();
    }
  },
  runOperation: (id: string, parts: Parameters<typeof runOperation>[2]) => runOperation(id, config, parts),
});

/** Does an operation that has been written down, or as root what the service of this user asks on a connection. */
function runTask(id: string, askedBy: string | undefined, { version, environment }: TaskOptions): Promise<TaskOutcome> {
  setProcessName();
  const prepare = (config: Config) => {
    const { logsOf, writeNotice: writeRecord } = openLogs(environment);
    const { log } = logsOf(config.logLevel);
    return { config, writeRecord, options: { version, log, isSafeMode: environment[safeModeVariable] === "1" } };
  };
  if (askedBy === undefined) {
    const { config, options } = prepare(loadSettings(environment));
    return runOperation(id, config, options);
  }
  return serveRequest({
    instance: id,
    user: askedBy,
    prepare() {
      const config = loadRootSettings(environment);
      return { ...prepare(config), host: createRootHost(config) };
    },
  });
}

/** An operation that has failed says so itself; for the unit in which root does it, the task was done. */
export const taskExitCode = (outcome: TaskOutcome, askedBy: string | undefined): number =>
  outcome === "failed" && askedBy === undefined ? exitCode.foundTrouble : exitCode.fine;

/**
 * `steward task run [--asked-by USER] ID`, which units run. The rest of the command line and of the service is not loaded: root does
 * this for each change that the service asks for.
 * @returns the exit code.
 */
export async function runTaskCommand(argv: readonly string[], options: TaskOptions): Promise<number> {
  try {
    const { id, askedBy } = parseTask(argv);
    return taskExitCode(await runTask(id, askedBy, options), askedBy);
  } catch (error) {
    cleanIo(ioOfProcess(process)).err(`steward: ${errorMessage(error)}\n`);
    return exitCode.couldNotRun;
  }
}
