import { uptime } from "node:os";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { openSharedOperationStore } from "#adapters/operations/index.ts";
import type { Config } from "#config/load.ts";
import type { OperationStore } from "#domain/ports/operations.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import { rollbackWaits } from "#domain/updates/reboot.ts";
import { places } from "#root/places.ts";
import { openPackageManager } from "./host.ts";
import { carryState } from "./updates.ts";

/** At the end of the service: copies the state to the next boot where a rollback waits for a reboot. */
export async function carryOwnState(
  config: Parameters<typeof carryState>[0],
  packages: Pick<PackageManager, "name"> | undefined,
  store: Pick<OperationStore, "ids" | "read">,
): Promise<void> {
  const bootedAt = systemClock.now() - uptime() * 1000;
  const isWaiting = (id: string): boolean => {
    const operation = store.read(id);
    return operation !== undefined && rollbackWaits(operation, bootedAt);
  };
  if (!store.ids().some(isWaiting)) return;
  await carryState(config, packages);
}

/** {@link carryOwnState} as root, for a service without rights that has just ended. */
export async function carryServiceState(config: Config): Promise<void> {
  const store = openSharedOperationStore({ stateDir: places.tasksDir });
  const packages = await openPackageManager({ exec });
  await carryOwnState({ ...config, stateDir: places.tasksDir, exec }, packages, store);
}
