import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CommandResult } from "#adapters/exec/index.ts";
import { readTextOrEmpty, writeFileAtomic } from "#adapters/files/index.ts";
import { type PackageVersion, UpdateRefused } from "#domain/ports/packages.ts";
import { demandSame, type PlainChange } from "../common/changes.ts";
import type { Argv, OnLine } from "../common/ports.ts";
import type { PlannedChange } from "../common/rpm/change-plan.ts";
import { isPackageName, nevraOf, parseNevra, type Wanted, wordOf } from "../common/rpm/names.ts";
import { NoLists } from "../common/rpm/offers.ts";
import { longestMs } from "../common/transactions.ts";
import { commonArguments, onlyInstalled, type ZypperPlaces } from "./asking.ts";
import type { Zypper, ZypperDatabase } from "./host.ts";
import { parseAutoInstalled } from "./lists.ts";
import { simulate } from "./simulation.ts";

/** What zypper takes for exactly one version of a package. @throws UpdateRefused for any other name or version. */
export function operandOf(found: PackageVersion): string {
  // A name that began with `!`, `-` or `+` would turn what is to be done with it around.
  if (!isPackageName(found.name) || parseNevra(nevraOf(found)) === undefined)
    throw new UpdateRefused(`${JSON.stringify(nevraOf(found))} is not a package name`);
  return `${found.name}.${found.architecture}=${found.version}`;
}

/** Each version is named, so that nothing decided at planning holds it back: age, vendor, architecture. */
export const wordsFor = (changes: readonly PlainChange[]): readonly string[] => [
  "install",
  "--no-recommends",
  "--oldpackage",
  "--allow-vendor-change",
  "--allow-arch-change",
  "--",
  ...changes.flatMap(({ name, architecture, from, to }) => {
    if (to !== null) return [operandOf({ name, architecture, version: to })];
    return from === null ? [] : [`!${operandOf({ name, architecture, version: from })}`];
  }),
];

/**
 * Names that nobody asked for once the changes are made: what is new is there for others, unless it is requested, or takes the place of
 * something that somebody asked for.
 */
export function automaticAfter(changes: readonly PlainChange[], database: ZypperDatabase): ReadonlySet<string> {
  const present = new Set(database.packages.map(({ name }) => name));
  const requested = new Set(changes.flatMap(({ name, isRequested }) => (isRequested ? [name] : [])));
  const come = changes.flatMap(({ name, to }) => (to === null ? [] : [name]));
  const gone = changes.flatMap(({ name, to }) => (to === null && !come.includes(name) ? [name] : []));
  const isForSomebody = requested.size === 0 && gone.some((name) => !database.automatic.has(name));
  const fresh = isForSomebody ? [] : come.filter((name) => !present.has(name));
  const all = [...[...database.automatic].filter((name) => !gone.includes(name)), ...fresh];
  return new Set(all.filter((name) => !requested.has(name)));
}

export interface Source {
  readonly ask: (words: readonly string[], signal: AbortSignal) => Promise<CommandResult>;
  readonly options: readonly string[];
  readonly words: readonly string[];
}

function usualSource(zypper: Zypper, changes: readonly PlainChange[]): Source {
  const words = wordsFor(changes);
  return changes.every(({ to }) => to === null)
    ? { ask: zypper.tryInstalled, options: onlyInstalled, words }
    : { ask: zypper.tryAsking, options: [], words };
}

async function demandPlanned(
  { ask, words }: Source,
  changes: readonly PlainChange[],
  signal: AbortSignal,
): Promise<void> {
  const { changes: now } = await simulate(ask, words, signal).catch((error: unknown) => {
    if (error instanceof NoLists) throw new UpdateRefused("the package lists are gone: they must be refreshed");
    if (!(error instanceof UpdateRefused)) throw error;
    throw new UpdateRefused(`what would be done has changed since it was planned: ${error.message}`);
  });
  demandSame(now, changes);
}

export async function makeChanges(
  zypper: Zypper,
  wanted: {
    readonly unit: string;
    readonly changes: readonly PlainChange[];
    readonly source?: Source;
    readonly onLine?: OnLine;
    readonly ready?: (() => Promise<void>) | undefined;
  },
  signal: AbortSignal,
): Promise<string> {
  const { places, database, directory } = zypper;
  const { unit, changes, source = usualSource(zypper, changes), onLine, ready } = wanted;
  const before = async (): Promise<void> => {
    await ready?.();
    await demandPlanned(source, changes, signal);
  };
  await demandPlanned(source, changes, signal);
  // Zypper marks what it is asked to install as wanted by a person. What is remembered of an earlier attempt stays.
  const marks = join(directory, `${unit}.auto`);
  const remembered = parseAutoInstalled(await readTextOrEmpty(marks));
  const names = new Set([...remembered, ...automaticAfter(changes, await database(signal))]);
  if (names.size > 0) await writeMarks(marks, names);

  const [verb = "", ...words] = source.words;
  // All packages are there, and are what they should be, before the first one is changed.
  const how = [...source.options, verb, "--download", "in-advance", ...words];
  const output = await zypper.transact(
    {
      unit,
      description: "Steward changes packages (zypper install)",
      argv: [...places.zypper, ...commonArguments, ...how],
      locks: [places.lock],
      before,
      timeoutMs: longestMs,
      ...(names.size > 0 && { afterwards: [marksCommand(marks, places)] }),
      onLine,
    },
    signal,
  );
  await rm(marks, { force: true });
  return output;
}

export async function writeMarks(path: string, names: ReadonlySet<string>): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  writeFileAtomic(path, ["# packages that came along with others", ...[...names].sort(), ""].join("\n"));
}

export const marksCommand = (path: string, { autoInstalled }: Pick<ZypperPlaces, "autoInstalled">): Argv => [
  "/usr/bin/install",
  "-D",
  "--mode=644",
  path,
  autoInstalled,
];

/** Plans that packages come or go. */
export function createPlans({ tryAsking, tryInstalled }: Pick<Zypper, "tryAsking" | "tryInstalled">) {
  const planned = async (
    ask: Zypper["tryAsking"],
    words: readonly string[],
    signal: AbortSignal,
  ): Promise<PlannedChange> => {
    const { changes, ...sizes } = await simulate(ask, words, signal);
    return { changes, sizes: () => Promise.resolve(sizes) };
  };
  return {
    planInstall: (wanted: readonly Wanted[], mayErase: boolean, _: unknown, signal: AbortSignal) => {
      const resolution = mayErase ? "--force-resolution" : "--no-force-resolution";
      return planned(tryAsking, ["install", "--name", resolution, "--", ...wanted.map(wordOf)], signal);
    },
    planRemoval: (packages: readonly PackageVersion[], _: unknown, signal: AbortSignal) =>
      planned(tryInstalled, ["remove", "--no-clean-deps", "--", ...packages.map(operandOf)], signal),
  };
}
