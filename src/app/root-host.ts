import { exec } from "#adapters/exec/index.ts";
import type { Config } from "#config/load.ts";
import { serviceUnit } from "#root/places.ts";
import { createHostChecks, type HostChecks } from "./checks.ts";
import { openHost, openPackageManager } from "./host.ts";
import { runOperation } from "./operation.ts";
import { pluginFoldersOf } from "./plugins.ts";
import { untraced } from "./tracing/tracing.ts";
import { createHostUpdates } from "./updates.ts";

/** What root's side runs its tasks on: the same as the service's, put together when a task asks for it, by root's own settings. */
export const createRootHost = (config: Config) => ({
  updates: () => createHostUpdates({ ...config, exec }, openPackageManager({ exec, stateDir: config.stateDir })),
  pluginFolders: () => pluginFoldersOf(config.settings),
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
