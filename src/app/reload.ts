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
  readonly connectors: { readonly reload: (next: Config) => readonly string[] };
  readonly plugins: { readonly reload: (next: Settings) => void };
  readonly windows: { readonly reload: (next: Config) => void };
  readonly approvals: { readonly reload: (next: Config) => void };
  readonly tls: { readonly reload: (next: Config) => Promise<void> };
  readonly around: (work: () => Promise<void>) => Promise<void>;
  readonly log: Logger;
}): () => void {
  const { config, load, connectors, plugins, windows, approvals, tls, around, log } = ports;
  const reload = async (): Promise<void> => {
    try {
      const next = load();
      await tls.reload(next);
      const names = connectors.reload(next);
      plugins.reload(next.settings);
      windows.reload(next);
      approvals.reload(next);
      log.info({ connectors: names }, "settings reloaded");
      const parts = partsForRestart(config.settings, next.settings);
      if (parts.length > 0) log.warn({ parts }, "settings changed that take effect with a restart");
    } catch (error) {
      if (!(error instanceof SettingsFaulty)) {
        log.error({ err: error }, "settings not reloaded");
        return;
      }
      for (const fault of error.faults) log.error({ fault: formatFault(fault) }, "settings not reloaded");
    }
  };
  let last = Promise.resolve();
  return () => {
    last = last.then(() => around(reload));
  };
}
