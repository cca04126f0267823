import { systemClock } from "#adapters/clock/index.ts";
import { createPluginFolders } from "#adapters/plugins/index.ts";
import type { Settings } from "#config/settings.ts";
import type { PluginFolders } from "#domain/ports/plugins.ts";

const usualDirs = ["/etc/steward/plugins", "/usr/lib/steward/plugins"];

/** The plugin directories of the settings; their files must belong to root where root runs them. */
export const pluginFoldersOf = ({ plugins = {} }: Pick<Settings, "plugins">, isRunByRoot = false): PluginFolders =>
  createPluginFolders({
    dirs: plugins.dirs ?? usualDirs,
    now: systemClock.now,
    ...(isRunByRoot && { owner: { uid: 0 } }),
  });
