import { formatFault, SettingsFaulty } from "#config/faults.ts";
import type { Config } from "#config/load.ts";
import type { Settings } from "#config/settings.ts";
import type { Logger } from "#telemetry/logger.ts";

const reloadable: readonly (keyof Settings)[] = ["connectors", "plugins", "tls", "windows", "approvals"];

function partsForRestart(before: Settings, after: Settings): readonly string[] {
  const parts = new Set([...Object.keys(before), ...Object.keys(after)] as (keyof Settings)[]);
  return [...parts].filter(
    (part) => !reloadable.includes(part) && JSON.stringify(before[part]) !== JSON.stringify(after[part]),
  );
}

/** Reads the settings again, one reload at a time. A faulty file changes nothing. */
export function createReload(ports: {
  readonly config: Config;
  readonly load: () => Config;
  /** Gives them to the parts. @returns fields for the log line. */
  readonly use: (next: Config) => Promise<object>;
  readonly around: (work: () => Promise<void>) => Promise<void>;
  readonly log: Logger;
}): () => void {
  const { config, load, use, around, log } = ports;
  const reload = async (): Promise<void> => {
    try {
      const next = load();
      log.info(await use(next), "settings reloaded");
      const parts = partsForRestart(config.settings, next.settings);
      if (parts.length > 0) log.warn({ parts }, "settings changed that take effect with a restart");
    } catch (error) {
      if (!(error instanceof SettingsFaulty)) {
        log.error({ err: error }, "cannot reload the settings");
        return;
      }
      for (const fault of error.faults) log.error({ fault: formatFault(fault) }, "cannot reload the settings");
    }
  };
  let last = Promise.resolve();
  return () => {
    last = last.then(() => around(reload));
  };
}
