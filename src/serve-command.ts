import { KeyStoreLost } from "#adapters/keystore/index.ts";
import { serve } from "#app/serve.ts";
import { cleanIo, ioOfProcess, type LocalCommands, NeedsDecision } from "#cli/index.ts";
import type { Environment } from "#config/defaults.ts";
import { SettingsFaulty } from "#config/faults.ts";
import { endWithStarter, openLogs, setProcessName } from "./daemon.ts";
import { loadSettings } from "./load-settings.ts";

type Options = Parameters<LocalCommands["serve"]>[0];

/** Runs the service until it is stopped. @throws NeedsDecision where it cannot start before a person has done something. */
export async function runService(
  { config: file, newAdminKey = false, safeMode = false }: Options,
  { version, environment }: { readonly version: string; readonly environment: Environment },
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
