import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { InstalledPackage } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { marksOf } from "../common/marks.ts";
import { createPattern } from "../rpm/names.ts";
import type { Asking, PacmanPlaces } from "./asking.ts";
import { type InstalledRecord, parseEntry, parseRecord } from "./records.ts";

export interface PacmanDatabase {
  readonly packages: readonly InstalledRecord[];
  /** Packages whose entry is there and not whole: pacman was stopped while it changed them. */
  readonly partial: readonly { readonly name: string; readonly version: string }[];
  readonly isHeld: (found: Pick<InstalledRecord, "name" | "groups">) => boolean;
  readonly mark: string;
}

type Entries = Pick<PacmanDatabase, "packages" | "partial">;

const atOnce = 64;

const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  one.name < other.name ? -1 : Number(one.name > other.name);

async function entryNames(local: string): Promise<readonly string[]> {
  const names = (await orUndefined(readdir(local))) ?? [];
  return names.filter((name) => parseEntry(name) !== undefined).sort();
}

async function readEntries(local: string, signal: AbortSignal): Promise<Entries> {
  const packages: InstalledRecord[] = [];
  const partial: { name: string; version: string }[] = [];
  const read = async (entry: string): Promise<void> => {
    const folder = join(local, entry);
    const record = parseRecord((await orUndefined(readFile(join(folder, "desc"), "utf8"))) ?? "");
    // The list of its files is written last.
    const hasFiles = (await orUndefined(stat(join(folder, "files")))) !== undefined;
    const named = parseEntry(entry);
    if (record !== undefined && hasFiles) packages.push(record);
    // It may have been removed meanwhile.
    else if (named !== undefined && (await orUndefined(stat(folder))) !== undefined) partial.push(named);
  };
  const names = await entryNames(local);
  for (let at = 0; at < names.length; at += atOnce) {
    signal.throwIfAborted();
    await Promise.all(names.slice(at, at + atOnce).map(read));
  }
  return { packages: packages.sort(byName), partial: partial.sort(byName) };
}

/** Reads what is installed, and what has not changed only once. */
export function createDatabase({ settings, places }: Pick<Asking, "settings"> & { readonly places: PacmanPlaces }) {
  const local = join(places.databases, "local");
  let last: { readonly mark: string; readonly database: PacmanDatabase } | undefined;

  const readHolds = async (signal: AbortSignal): Promise<PacmanDatabase["isHeld"]> => {
    const found = await settings(["IgnorePkg", "IgnoreGroup"], signal);
    const [names, groups] = ["IgnorePkg", "IgnoreGroup"].map((name) => (found.get(name) ?? []).map(createPattern));
    return (each) =>
      (names ?? []).some((matches) => matches(each.name)) ||
      (groups ?? []).some((matches) => each.groups.some(matches));
  };

  return async (signal: AbortSignal): Promise<PacmanDatabase> => {
    const entries = (await entryNames(local)).map((name) => join(local, name));
    const mark = await marksOf([...entries, ...places.settings]);
    if (last?.mark !== mark) {
      const read = await readEntries(local, signal);
      last = { mark, database: { ...read, isHeld: await readHolds(signal), mark } };
    }
    return last.database;
  };
}

export const toInstalled = ({ packages, isHeld }: PacmanDatabase): readonly InstalledPackage[] =>
  packages.map((each) => ({
    name: each.name,
    architecture: each.architecture,
    version: each.version,
    isManual: each.isManual,
    isHeld: isHeld(each),
  }));
