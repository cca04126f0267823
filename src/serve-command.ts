import { parseArgs } from "node:util";
import { KeyStoreLost } from "#adapters/keystore/index.ts";
import { serve } from "#app/serve.ts";
import { explainError, NeedsDecision } from "#cli/core/errors.ts";
import type { LocalCommands } from "#cli/core/ports.ts";
import { cleanIo, exitCode, ioOfProcess } from "#cli/output/output.ts";
import type { Environment } from "#config/defaults.ts";
import { SettingsFaulty } from "#config/faults.ts";
import { defined } from "#kernel/values.ts";
import { endWithStarter, openLogs, setProcessName } from "./daemon.ts";
import { loadSettings } from "./load-settings.ts";

type Options = Parameters<LocalCommands["serve"]>[0];

interface Program {
  readonly version: string;
  readonly environment: Environment;
}

/** The options of `serve`; undefined where there are other words, of which the command line says what is wrong. */
export function parseServe(argv: readonly string[]): Options | undefined {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { config: { type: "string" }, "new-admin-key": { type: "boolean" }, "safe-mode": { type: "boolean" } },
    });
    return defined({ ...values, newAdminKey: values["new-admin-key"], safeMode: values["safe-mode"] });
  } catch {
    return undefined;
  }
}

/** {@link runService} without the command line. @returns its exit code. */
export async function runServeCommand(options: Options, program: Program): Promise<number> {
  try {
    await runService(options, program);
    return exitCode.fine;
  } catch (error) {
    cleanIo(ioOfProcess(process)).err(`steward: ${explainError(error)}\n`);
    return error instanceof NeedsDecision ? exitCode.needsDecision : exitCode.couldNotRun;
  }
}

/** Runs the service until it is stopped. @throws NeedsDecision where it cannot start before a person has done something. */
export async function runService(
  { config: file, newAdminKey = false, safeMode = false }: Options,
  { version, environment }: Program,
): Promise<void> {
  const isAttended = process.stderr.isTTY || environment["STEWARD_STARTED_BY"] !== undefined;
  endWithStarter();
  setProcessName();
  const { logsOf } = openLogs(environment);
  try {
    const config = loadSettings(environment, file);
    await serve(config, {
      version,
      logs: logsOf(config.logLevel),
      newAdminKey,
      isSafeMode: safeMode,
      isAttended,
      reload: () => loadSettings(environment, file),
      report: cleanIo(ioOfProcess(process)).err,
    });
  } catch (error) {
    const needsDecision = error instanceof SettingsFaulty || error instanceof KeyStoreLost;
    throw needsDecision ? new NeedsDecision(error.message, { cause: error }) : error;
  }
}
