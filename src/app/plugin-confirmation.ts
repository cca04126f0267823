import { lstatSync } from "node:fs";
import { type ConfirmedPlugin, openConfirmedPlugins } from "#adapters/plugins/index.ts";
import type { Config } from "#config/load.ts";
import { permissionWords } from "#domain/plugins/confirmation.ts";
import { places } from "#root/places.ts";
import { pluginDirectoriesOf } from "./plugins.ts";

export interface Confirmable extends Omit<ConfirmedPlugin, "confirmedAt"> {
  readonly permissions: readonly string[];
  readonly needsRoot: boolean;
  readonly isConfirmed: boolean;
}

/** The list is for hosts on which the service is not root. @throws Error on others, and for others than root. */
function openList() {
  if (process.getuid?.() !== 0)
    throw new Error("cannot say which plugins may run as root: only root can (run the same with sudo)");
  if (lstatSync(places.tasksDir, { throwIfNoEntry: false })?.uid !== 0)
    throw new Error(
      `cannot say which plugins may run as root: there is no ${places.tasksDir} (a service that was not installed from its package runs plugins without confirmation)`,
    );
  return openConfirmedPlugins(places.confirmedDir);
}

export function createPluginConfirmation({ settings }: Pick<Config, "settings">) {
  return {
    list: () => openList().all(),
    async find(name: string): Promise<Confirmable> {
      const list = openList();
      const found = (await pluginDirectoriesOf(settings, true).find()).find((each) => each.name === name);
      if (found === undefined) throw new Error(`cannot confirm ${name}: no plugin directory has such a plugin`);
      const { path, loaded } = found;
      if ("fault" in loaded) throw new Error(`cannot confirm ${name}: ${loaded.fault}`);
      const { manifest, digest } = loaded;
      return {
        name,
        version: manifest.version,
        path,
        digest,
        permissions: permissionWords(manifest.permissions),
        needsRoot: manifest.permissions.user === "root",
        isConfirmed: list.has({ path, digest }),
      };
    },
    /** Confirms what was found, and nothing that has taken its place since: that has another digest. */
    confirm({ name, version, path, digest }: Confirmable): void {
      openList().add({ name, version, path, digest, confirmedAt: Date.now() });
    },
    /** @returns the directories of the plugins of this name that were confirmed until now. */
    revoke(name: string): readonly string[] {
      const list = openList();
      return list
        .all()
        .filter((each) => each.name === name && list.remove(each.path))
        .map(({ path }) => path);
    },
  };
}
