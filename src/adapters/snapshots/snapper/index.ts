import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { InstalledPackage, RollbackOutcome, SnapshotBackend, StoredSnapshot } from "#domain/updates/ports.ts";
import { SnapshotUnusable } from "#domain/updates/ports.ts";
import { isSnapshotId } from "#domain/updates/snapshot.ts";
import type { Clock } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { diffPackages } from "../packages/plan.ts";
import { readBeginning, writeBeginning } from "./beginning.ts";
import { carryState } from "./carry.ts";
import { readGivenIds, writeGivenIds } from "./given-ids.ts";
import { mountedApart, type RootLayout, snapshotsFolder } from "./layout.ts";
import { keyOf, keys, type NamedEntry, nameEntries } from "./names.ts";
import type { SnapperEntry } from "./parse.ts";
import { createPrograms, type Programs } from "./programs.ts";
import { createSizes } from "./sizes.ts";
import { filledNested, nestedReason, whyUnusable } from "./usable.ts";

export { detectSnapper, type SnapperFound } from "./detect.ts";

/** The packages of a root folder: of the host itself (`/`), or of a snapshot. */
export type InstalledIn = (root: string, signal: AbortSignal) => Promise<readonly InstalledPackage[]>;

export interface SnapperPorts {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly installed: InstalledIn;
  /** What {@link detectSnapper} found. */
  readonly config: string;
  readonly layout: RootLayout;
  /** The folder of the service's own state, which a rollback does not take back. */
  readonly stateDir: string;
  /** All folders that a rollback does not take back; that one unless given. */
  readonly carried?: readonly string[];
}

const ownKinds: readonly StoredSnapshot["kind"][] = ["manual", "before_update", "before_rollback"];
const rootOf = (number: number): string => join(snapshotsFolder, String(number), "snapshot");
const cleanUpMs = 60_000;

/** Of a subvolume below the folder of the snapshots: its number. */
const numberOf = (path: string): number => Number(/(?:^|\/)(\d+)\/snapshot$/.exec(path)?.[1] ?? Number.NaN);

/** Numbers of snapper's subvolumes by their ids. */
async function numbersById(
  programs: Programs,
  { snapshotsId }: RootLayout,
  which: "all" | "read-only",
  signal: AbortSignal,
): Promise<ReadonlyMap<number, number>> {
  const found = await programs.subvolumes(which, signal);
  const pairs = found
    .filter(({ parentId }) => parentId === snapshotsId)
    .map(({ id, path }) => [id, numberOf(path)] as const);
  return new Map(pairs.filter(([, number]) => !Number.isNaN(number)));
}

/** Snapper deletes without a word what it then still has, so it is looked for. */
async function removeNumber(programs: Programs, number: number, signal: AbortSignal): Promise<void> {
  await programs.remove(number, signal);
  if ((await programs.list(signal)).some((each) => each.number === number)) {
    throw new Error(`snapper does not delete its snapshot ${number}`);
  }
}

/**
 * Snapshots of the whole root subvolume, kept by snapper on btrfs. Those that somebody else took with snapper are listed and
 * can be returned to as well; they count as protected, for it is not ours to decide when they go, and nothing is written into
 * them: where two are of one second, the id of the later one is kept in the state folder, so that it stays.
 *
 * A rollback makes a writable copy of the snapshot and the copy the default subvolume, which is what boots next, as
 * `snapper rollback` does. That command does both at once, and the state of the service could not be brought along before
 * the copy may be booted.
 */
export function createSnapperBackend(ports: SnapperPorts): SnapshotBackend {
  const { exec, clock, installed, config, layout, stateDir, carried = [stateDir] } = ports;
  const programs = createPrograms({ exec, config, snapshots: snapshotsFolder });
  const sizes = createSizes({ programs, clock });
  let counts: ReadonlyMap<string, number> = new Map();

  /** Snapshots that cannot be written to; the others are roots that are, were or will be booted. */
  const named = async (signal: AbortSignal): Promise<readonly NamedEntry[]> => {
    const readOnly = new Set((await numbersById(programs, layout, "read-only", signal)).values());
    const given = await readGivenIds(stateDir);
    const entries = nameEntries(
      (await programs.list(signal)).filter(({ number }) => readOnly.has(number)),
      given,
    );
    if (entries.some(({ isFresh }) => isFresh)) {
      const kept = entries.filter(({ entry, isFresh }) => isFresh || given.has(keyOf(entry)));
      writeGivenIds(stateDir, new Map(kept.map(({ entry, id }) => [keyOf(entry), id])));
    }
    return entries;
  };

  const find = async (id: string, signal: AbortSignal): Promise<NamedEntry> => {
    if (!isSnapshotId(id)) throw new SnapshotUnusable("a snapshot's id looks like 20260131-235959");
    const found = (await named(signal)).find((each) => each.id === id);
    if (found === undefined) throw new SnapshotUnusable(`there is no snapshot ${id}`);
    return found;
  };

  const countPackages = async (entry: SnapperEntry, signal: AbortSignal): Promise<number> => {
    const told = entry.userdata[keys.packages];
    if (told !== undefined && /^\d+$/.test(told)) return Number(told);
    return counts.get(keyOf(entry)) ?? (await installed(rootOf(entry.number), signal)).length;
  };

  const describe = async (
    { entry, id }: NamedEntry,
    sizeBytes: number,
    signal: AbortSignal,
  ): Promise<StoredSnapshot> => {
    const { number, type, userdata, createdAt } = entry;
    const kind = ownKinds.find((each) => each === userdata[keys.kind]);
    const isOurs = kind !== undefined;
    const origin = `${entry.description || "no description"} (snapper ${number}, ${type})`;
    const told = { id, createdAt, sizeBytes, kind: kind ?? "external", backend: "snapper" as const };
    const isProtected = !isOurs || userdata[keys.isProtected] === "yes";
    try {
      const packagesCount = await countPackages(entry, signal);
      counts = new Map([...counts, [keyOf(entry), packagesCount]]);
      return { ...told, description: isOurs ? entry.description : origin, isProtected, packagesCount };
    } catch (error) {
      signal.throwIfAborted();
      // It is shown all the same, so that it can be removed.
      const reason = errorMessage(error);
      return { ...told, description: `unusable: ${reason}`, isProtected, packagesCount: 0 };
    }
  };

  const list = async (signal: AbortSignal): Promise<readonly StoredSnapshot[]> => {
    const entries = await named(signal);
    const sizeable = entries.map(({ entry }) => {
      return { key: keyOf(entry), path: rootOf(entry.number), usedSpace: entry.usedSpace };
    });
    const present = new Set(sizeable.map(({ key }) => key));
    counts = new Map([...counts].filter(([key]) => present.has(key)));
    const measured = await sizes(sizeable, signal);
    return Promise.all(entries.map((each) => describe(each, measured.get(keyOf(each.entry)) ?? 0, signal)));
  };

  /** What is left of a snapshot that could not be taken whole. */
  const discard = async (id: string): Promise<void> => {
    const signal = AbortSignal.timeout(cleanUpMs);
    for (const { number, userdata } of await programs.list(signal)) {
      if (userdata[keys.id] === id) await removeNumber(programs, number, signal);
    }
  };

  const verify = async ({ entry }: NamedEntry, signal: AbortSignal): Promise<void> => {
    const reason = await whyUnusable(rootOf(entry.number), installed, signal);
    if (reason !== undefined) throw new SnapshotUnusable(`the snapshot cannot be booted: ${reason}`);
    const nested = await filledNested(programs, layout, carried, signal);
    if (nested.length > 0) throw new SnapshotUnusable(nestedReason(nested));
  };

  const difference = async (number: number, signal: AbortSignal) => {
    const state = "installed" as const;
    const [then, now] = [await installed(rootOf(number), signal), await installed("/", signal)];
    const packages = diffPackages(
      then.map((each) => ({ ...each, state })),
      now.map((each) => ({ ...each, state })),
    );
    const changed = await programs.status(number, signal);
    const files = changed
      .filter(({ path }) => path.startsWith("/etc/"))
      .map(({ path, change }) => ({ path: path.slice("/etc/".length), change }));
    return { packages, files };
  };

  /** Roots that earlier rollbacks made and nothing boots any more. What could not be removed is told. */
  const removeOldRoots = async (
    transaction: string,
    tell: (line: string) => void,
    signal: AbortSignal,
  ): Promise<void> => {
    const kept = new Set([layout.rootId, await programs.defaultId(signal)]);
    const ids = await numbersById(programs, layout, "all", signal);
    const keptNumbers = new Set([...ids].filter(([id]) => kept.has(id)).map(([, number]) => number));
    for (const { number, userdata } of await programs.list(signal)) {
      const made = userdata[keys.transaction];
      if (made === undefined || made === transaction || keptNumbers.has(number)) continue;
      try {
        await removeNumber(programs, number, signal);
      } catch (error) {
        signal.throwIfAborted();
        tell(`an earlier root is left: ${errorMessage(error)}`);
      }
    }
  };

  /** The writable copy of this transaction, made unless there is one. */
  const copyFor = async (
    { entry, id }: NamedEntry,
    transaction: string,
    signal: AbortSignal,
  ): Promise<{ readonly number: number; readonly subvolumeId: number }> => {
    const earlier = (await programs.list(signal)).find(({ userdata }) => userdata[keys.transaction] === transaction);
    if (earlier !== undefined && earlier.userdata[keys.copyOf] !== id) {
      throw new Error(`the transaction ${transaction} has returned to another snapshot`);
    }
    const userdata = { [keys.transaction]: transaction, [keys.copyOf]: id };
    const made = { description: `Returned to ${id}`, userdata, writableCopyOf: entry.number };
    const number = earlier?.number ?? (await programs.create(made, signal));
    const found = [...(await numbersById(programs, layout, "all", signal))].find(([, each]) => each === number);
    if (found === undefined) throw new Error(`snapper has made no copy of its snapshot ${entry.number}`);
    return { number, subvolumeId: found[0] };
  };

  return {
    name: "snapper",
    needsReboot: true,
    list,

    async create({ id, description, kind, isProtected = false, progress }, signal) {
      if (!isSnapshotId(id)) throw new Error("a snapshot's id looks like 20260131-235959");
      if ((await named(signal)).some((each) => each.id === id)) throw new Error(`there is a snapshot ${id} already`);
      progress.step(0, "taking a snapshot of /");
      const packages = String((await installed("/", signal)).length);
      const userdata = {
        [keys.id]: id,
        [keys.kind]: kind,
        [keys.isProtected]: isProtected ? "yes" : "no",
        [keys.packages]: packages,
      };
      try {
        await programs.create({ description, userdata }, signal);
        const taken = (await list(signal)).find((each) => each.id === id);
        if (taken === undefined) throw new Error("snapper has taken none");
        return taken;
      } catch (error) {
        await discard(id);
        throw error;
      }
    },

    async remove(id, signal) {
      const { entry } = await find(id, signal);
      await removeNumber(programs, entry.number, signal);
    },

    async diff(id, signal) {
      const { entry } = await find(id, signal);
      return difference(entry.number, signal);
    },

    async verify(id, signal) {
      await verify(await find(id, signal), signal);
    },

    async rollback(id, { id: transaction, progress }, signal) {
      if (!/^[0-9A-Za-z-]{1,100}$/.test(transaction)) {
        throw new Error("a transaction's id has letters, digits and dashes");
      }
      const found = await find(id, signal);
      progress.step(0, "looking whether the snapshot can be booted");
      await verify(found, signal);
      const begin = async () => {
        const { packages, files } = await difference(found.entry.number, signal);
        const back = packages.map(({ from, to, ...rest }) => ({ ...rest, from: to, to: from }));
        const beginning = { transaction, packages: back, files: files.length };
        writeBeginning(stateDir, beginning);
        return beginning;
      };
      const { packages, files } = (await readBeginning(stateDir, transaction)) ?? (await begin());
      const outcome = (requiresReboot: boolean, reason: string): RollbackOutcome => {
        return { isDone: true, reason, packages, filesRestored: files, requiresReboot };
      };

      progress.step(20, "making a root of the snapshot");
      const copy = await copyFor(found, transaction, signal);
      if (copy.subvolumeId === layout.rootId) return outcome(false, "");
      if ((await programs.defaultId(signal)) !== copy.subvolumeId) {
        progress.step(60, "bringing the state of the service along");
        for (const each of carried)
          await carryState({ programs, stateDir: each, name: transaction }, rootOf(copy.number), signal);
        progress.step(90, "making it the root of the next boot");
        await programs.setDefault(rootOf(copy.number), signal);
      }
      await removeOldRoots(transaction, progress.line, signal);
      const apart = mountedApart(await readFile("/proc/self/mountinfo", "utf8"));
      const stay = apart.length === 0 ? "" : `; not on this file system, and left as it is: ${apart.join(", ")}`;
      const reason = `what is written to / until the reboot stays in the root that is left${stay}`;
      progress.line(reason);
      return outcome(true, reason);
    },

    // The roots that earlier rollbacks made go with the next one: until then one of them may be what is booted.
    tidy: () => Promise.resolve(),
  };
}

/**
 * Brings the state of the service along once more when the next boot is into a root that a rollback has made: for the moment
 * when the service stops, since keys and audit lines may have come after the rollback. Does nothing otherwise.
 */
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
  // The service ends with the host as a rule, and the bus with both.
  const programs = createPrograms({ exec, config, snapshots: snapshotsFolder, isBusGone: true });
  const next = await programs.defaultId(signal);
  if (next === layout.rootId) return;
  const number = (await numbersById(programs, layout, "all", signal)).get(next);
  const entry = (await programs.list(signal)).find((each) => each.number === number);
  const transaction = entry?.userdata[keys.transaction];
  if (entry === undefined || transaction === undefined) return;
  for (const stateDir of carried)
    await carryState({ programs, stateDir, name: transaction }, rootOf(entry.number), signal);
}
