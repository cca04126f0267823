import type { SnapshotBackend, StoredSnapshot } from "#domain/ports/snapshots.ts";
import { isSnapshotId } from "#domain/updates/snapshot.ts";
import { carryState } from "./carry.ts";
import {
  findEntry,
  listSnapshots,
  namedEntries,
  numbersById,
  removeNumber,
  rootOf,
  type Snapper,
  type SnapperPorts,
} from "./catalogue.ts";
import { keys } from "./names.ts";
import { createPrograms } from "./programs.ts";
import { difference, rollBack, verifyEntry } from "./rollback.ts";
import { createSizes } from "./sizes.ts";

export type { InstalledIn } from "./catalogue.ts";
export { detectSnapper, type SnapperFound } from "./detect.ts";

const cleanUpMs = 60_000;

async function discard({ programs }: Snapper, id: string): Promise<void> {
  const signal = AbortSignal.timeout(cleanUpMs);
  for (const { number, userdata } of await programs.list(signal)) {
    if (userdata[keys.id] === id) await removeNumber(programs, number, signal);
  }
}

async function createSnapshot(
  snapper: Snapper,
  ...[{ id, description, kind, isProtected = false, progress }, signal]: Parameters<SnapshotBackend["create"]>
): Promise<StoredSnapshot> {
  if (!isSnapshotId(id)) throw new Error("a snapshot's id looks like 20260131-235959");
  if ((await namedEntries(snapper, signal)).some((each) => each.id === id))
    throw new Error(`there is a snapshot ${id} already`);
  progress.step(0, "taking a snapshot of /");
  const packages = String((await snapper.installed("/", signal)).length);
  const userdata = {
    [keys.id]: id,
    [keys.kind]: kind,
    [keys.isProtected]: isProtected ? "yes" : "no",
    [keys.packages]: packages,
  };
  try {
    await snapper.programs.create({ description, userdata }, signal);
    const taken = (await listSnapshots(snapper, signal)).find((each) => each.id === id);
    if (taken === undefined) throw new Error("snapper has taken none");
    return taken;
  } catch (error) {
    await discard(snapper, id);
    throw error;
  }
}

/**
 * Snapshots of the root subvolume. Those of others are listed, protected and never changed. A rollback makes a writable copy, adds
 * the state of the service, and makes it the default subvolume.
 */
export function createSnapperBackend(ports: SnapperPorts): SnapshotBackend {
  const { exec, clock, installed, config, layout, stateDir, carried = [stateDir] } = ports;
  const programs = createPrograms({ exec, config });
  const sizes = createSizes({ programs, clock });
  const snapper: Snapper = { installed, layout, stateDir, carried, programs, sizes, counts: new Map() };
  return {
    name: "snapper",
    needsReboot: true,
    list: (signal) => listSnapshots(snapper, signal),
    create: (options, signal) => createSnapshot(snapper, options, signal),
    recordChanges: () => Promise.resolve(),
    async remove(id, signal) {
      const { entry } = await findEntry(snapper, id, signal);
      await removeNumber(programs, entry.number, signal);
    },
    async diff(id, signal) {
      const { entry } = await findEntry(snapper, id, signal);
      return difference(snapper, entry.number, signal);
    },
    async verify(id, signal) {
      await verifyEntry(snapper, await findEntry(snapper, id, signal), signal);
    },
    rollback: (id, options, signal) => rollBack(snapper, id, options, signal),
    tidy: () => Promise.resolve(),
  };
}

/** At the end of the service: copies the state once more when the next boot is into the root of a rollback. */
export async function carryStateToNextBoot(
  {
    exec,
    config,
    layout,
    carried,
  }: Pick<SnapperPorts, "exec" | "config" | "layout"> & {
    readonly carried: readonly string[];
  },
  signal: AbortSignal,
): Promise<void> {
  const programs = createPrograms({ exec, config, isBusGone: true });
  const next = await programs.defaultId(signal);
  if (next === layout.rootId) return;
  const number = (await numbersById(programs, layout, "all", signal)).get(next);
  const entry = (await programs.list(signal)).find((each) => each.number === number);
  const transaction = entry?.userdata[keys.transaction];
  if (entry === undefined || transaction === undefined) return;
  for (const stateDir of carried)
    await carryState({ programs, stateDir, name: transaction }, rootOf(entry.number), signal);
}
