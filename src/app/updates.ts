import { uptime } from "node:os";
import { join } from "node:path";
import { systemClock } from "#adapters/clock/index.ts";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { openSharedOperationStore } from "#adapters/operations/index.ts";
import { createDatabase, readPresent } from "#adapters/packages/apt/database.ts";
import { createStaleCode } from "#adapters/packages/common/stale-code.ts";
import { createRebootNeed } from "#adapters/reboot/index.ts";
import { createPackageSnapshots } from "#adapters/snapshots/packages/index.ts";
import { createRefresh } from "#adapters/snapshots/packages/restore-tree.ts";
import type { InstalledIn } from "#adapters/snapshots/snapper/index.ts";
import { carryStateToNextBoot, createSnapperBackend, detectSnapper } from "#adapters/snapshots/snapper/index.ts";
import type { Config } from "#config/load.ts";
import type { OperationStore } from "#domain/ports/operations.ts";
import type { PackageFiles, PackageManager } from "#domain/ports/packages.ts";
import type { HostUpdates, SnapshotBackend } from "#domain/ports/snapshots.ts";
import type { Units } from "#domain/ports/units.ts";
import { rollbackWaits } from "#domain/updates/reboot.ts";
import type { StaleHost } from "#domain/updates/stale.ts";
import { places } from "#root/places.ts";
import type { RequestRoot } from "#root/request.ts";
import { backendsThroughRoot, managerThroughRoot } from "#root/through-root.ts";
import { openPackageManager } from "./host.ts";

type Parts = Pick<Config, "stateDir" | "settings"> & { readonly exec: Exec };

const packageDatabase = "/var/lib/dpkg";
const lookMs = 10_000;
const askMs = 60_000;

const installedIn: InstalledIn = async (root) => {
  const dpkg = join(root, packageDatabase);
  const database = createDatabase({ status: join(dpkg, "status"), updates: join(dpkg, "updates") });
  const present = await readPresent(database, join(root, "var/lib/apt/extended_states"));
  return present.filter(({ state }) => state === "installed");
};

/** Directories that are copied to the next boot together: root's tasks are recorded in both. */
const carriedWith = (stateDir: string): readonly string[] =>
  stateDir === places.tasksDir ? [stateDir, places.stateDir] : [stateDir];

async function snapperOf({ stateDir, settings, exec }: Parts): Promise<readonly SnapshotBackend[]> {
  if (settings.updates?.backend === "packages") return [];
  const carried = carriedWith(stateDir);
  const found = await detectSnapper({ exec, packageDatabase, carried }, AbortSignal.timeout(lookMs));
  if (!found.isUsable) return [];
  const { config, layout } = found;
  return [
    createSnapperBackend({ exec, clock: systemClock, installed: installedIn, config, layout, stateDir, carried }),
  ];
}

function packagesOf({ stateDir, settings, exec }: Parts, files: PackageFiles): readonly SnapshotBackend[] {
  if (settings.updates?.backend === "snapper") return [];
  const folder = join(stateDir, "snapshots");
  return [createPackageSnapshots({ directory: folder, files, clock: systemClock, refresh: createRefresh({ exec }) })];
}

export async function createHostUpdates(
  config: Parts,
  packages: PackageManager | undefined,
  request?: RequestRoot,
): Promise<HostUpdates> {
  const updates = await updatesOf(config, packages, request);
  if (request === undefined || updates.manager === undefined) return updates;
  return { ...updates, manager: managerThroughRoot(updates.manager, request, systemClock) };
}

async function updatesOf(
  config: Parts,
  manager: PackageManager | undefined,
  request: RequestRoot | undefined,
): Promise<HostUpdates> {
  if (manager === undefined || config.settings.updates?.enabled === false) return { manager: undefined, backends: [] };
  const { files } = manager;
  // Snapper's snapshots are of dpkg's world so far.
  if (files === undefined) return { manager, backends: [] };
  if (request !== undefined)
    return { manager, backends: await backendsThroughRoot(request, AbortSignal.timeout(askMs)) };
  const snapper = manager.name === "apt" ? await snapperOf(config) : [];
  return { manager, backends: [...snapper, ...packagesOf(config, files)] };
}

/** What still runs replaced code, found by root for a service without rights. */
export const createStaleHost = (units: Units, request?: RequestRoot): StaleHost => ({
  code: request === undefined ? createStaleCode() : { find: (signal) => request("stale.find", {}, signal) },
  units,
  reboot: createRebootNeed(),
});

async function carryState(config: Parts, packages: Pick<PackageManager, "name"> | undefined): Promise<void> {
  if (packages?.name !== "apt" || config.settings.updates?.backend === "packages") return;
  const signal = AbortSignal.timeout(lookMs);
  const { stateDir, exec } = config;
  const carried = carriedWith(stateDir);
  const found = await detectSnapper({ exec, packageDatabase, carried, isBusGone: true }, signal);
  if (!found.isUsable) return;
  const { layout } = found;
  await carryStateToNextBoot({ exec, carried, config: found.config, layout }, signal);
}

/** At the end of the service: copies the state to the next boot where a rollback waits for a reboot. */
export async function carryOwnState(
  config: Parts,
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
  const packages = openPackageManager({ exec });
  await carryOwnState({ ...config, stateDir: places.tasksDir, exec }, packages, store);
}
