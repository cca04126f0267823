import { join } from "node:path";
import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { createStaleCode } from "#adapters/packages/common/stale-code.ts";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { createAttributes } from "#adapters/snapshots/packages/attributes.ts";
import { createPackageSnapshots, snapshotFolder } from "#adapters/snapshots/packages/index.ts";
import { createRefresh } from "#adapters/snapshots/packages/restore-tree.ts";
import type { Config } from "#config/load.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { HostUpdates } from "#domain/ports/snapshots.ts";
import type { Units } from "#domain/ports/units.ts";
import type { StaleHost } from "#domain/updates/stale.ts";
import type { RequestRoot } from "#root/request.ts";
import { managerThroughRoot, snapshotsThroughRoot } from "#root/through-root.ts";

/** What changes packages and rolls back, as root or through root's side. */
export function createHostUpdates(
  { stateDir, settings, exec }: Pick<Config, "stateDir" | "settings"> & { readonly exec: Exec },
  manager: PackageManager | undefined,
  request?: RequestRoot,
): HostUpdates | undefined {
  if (manager === undefined || settings.updates?.enabled === false) return undefined;
  const directory = join(stateDir, "snapshots");
  if (request !== undefined) {
    const backend = snapshotsThroughRoot(request, () => Promise.resolve(snapshotFolder(directory)));
    return { manager: managerThroughRoot(manager, request, systemClock), backend };
  }
  const { files } = manager;
  const refresh = createRefresh({ exec });
  return {
    manager,
    backend: createPackageSnapshots({
      directory,
      files,
      clock: systemClock,
      refresh,
      attributes: createAttributes({ exec }),
    }),
  };
}

/** What still runs replaced code, found by root for a service without rights. */
export const createStaleHost = (units: Units, request?: RequestRoot): StaleHost => ({
  code: request === undefined ? createStaleCode() : { find: (signal) => request("stale.find", {}, signal) },
  units,
  reboot: createRebootNeed(),
});
