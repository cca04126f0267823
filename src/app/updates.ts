import { join } from "node:path";
import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { createStaleCode } from "#adapters/packages/common/stale-code.ts";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { createAttributes } from "#adapters/snapshots/packages/attributes.ts";
import { createPackageSnapshots } from "#adapters/snapshots/packages/index.ts";
import { createRefresh } from "#adapters/snapshots/packages/restore-tree.ts";
import type { Config } from "#config/load.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { HostUpdates, SnapshotBackend } from "#domain/ports/snapshots.ts";
import type { Units } from "#domain/ports/units.ts";
import type { StaleHost } from "#domain/updates/stale.ts";

/** What changes packages and rolls back. */
export function createHostUpdates(
  { stateDir, settings, exec }: Pick<Config, "stateDir" | "settings"> & { readonly exec: Exec },
  manager: PackageManager | undefined,
): HostUpdates<SnapshotBackend> | undefined {
  if (manager === undefined || settings.updates?.enabled === false) return undefined;
  const { files } = manager;
  const refresh = createRefresh({ exec });
  return {
    manager,
    backend: createPackageSnapshots({
      directory: join(stateDir, "snapshots"),
      files,
      clock: systemClock,
      refresh,
      attributes: createAttributes({ exec }),
    }),
  };
}

/** What still runs replaced code. */
export const createStaleHost = (units: Units): StaleHost => ({
  code: createStaleCode(),
  units,
  reboot: createRebootNeed(),
});
