import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { TaskProgram } from "#adapters/operations/launcher.ts";
import type { Config } from "#config/load.ts";

export const safeModeVariable = "STEWARD_SAFE_MODE";

export function operationProgram(
  { stateDir, file, settings }: Pick<Config, "stateDir" | "file" | "settings">,
  isSafeMode = false,
): TaskProgram {
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const journal = settings.journal?.dir;
  const environment = {
    STEWARD_STATE_DIR: resolve(stateDir),
    ...(file !== undefined && { STEWARD_CONFIG: resolve(file) }),
    ...(journal !== undefined && { STEWARD_JOURNAL_DIR: resolve(journal) }),
    ...(isSafeMode && { [safeModeVariable]: "1" }),
  };
  return { argv: [process.execPath, main, "task", "run"], environment };
}
