import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { writeFileAtomic } from "#adapters/files/index.ts";
import { type PackageVersion, UpdateRefused } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { areSame, describeChanges, type PlainChange } from "../common/changes.ts";
import type { createTransactions } from "../common/transactions.ts";
import { isPackageName, nevraOf, parseNevra } from "../rpm/names.ts";
import { NoLists } from "../rpm/offers.ts";
import { type Asking, commonWords, onlyInstalled, type ZypperPlaces } from "./asking.ts";
import type { createDatabase, ZypperDatabase } from "./database.ts";
import { parseAutoInstalled } from "./lists.ts";
import { doneCodes, simulate } from "./simulation.ts";

/** A long upgrade on a slow disk; it goes on by itself after that. */
const longestMs = 6 * 60 * 60_000;

/** What zypper takes for exactly one version of a package. @throws UpdateRefused for what is none. */
export function operandOf(found: PackageVersion): string {
  // A name that began with `!`, `-` or `+` would turn what is to be done with it around.
  if (!isPackageName(found.name) || parseNevra(nevraOf(found)) === undefined)
    throw new UpdateRefused(`${JSON.stringify(nevraOf(found))} is no name of a package`);
  return `${found.name}.${found.architecture}=${found.version}`;
}

/**
 * The words that make just these changes: each version is named, so that whatever would hold it back otherwise, its age, its
 * vendor or its architecture, was decided when they were planned.
 */
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

/** Names that nobody asked for once the changes are made: what is new is there for others, unless it takes the place of something else. */
export function automaticAfter(changes: readonly PlainChange[], database: ZypperDatabase): ReadonlySet<string> {
  const present = new Set(database.packages.map(({ name }) => name));
  const come = changes.flatMap(({ name, to }) => (to === null ? [] : [name]));
  const gone = changes.flatMap(({ name, to }) => (to === null && !come.includes(name) ? [name] : []));
  const isForSomebody = gone.some((name) => !database.automatic.has(name));
  const fresh = isForSomebody ? [] : come.filter((name) => !present.has(name));
  return new Set([...[...database.automatic].filter((name) => !gone.includes(name)), ...fresh]);
}

/** Runs programs; where zypper says that it has done all, and more, that is no failure. */
export const tolerant =
  (exec: Exec): Exec =>
  async (...given) => {
    const result = await exec(...given);
    return doneCodes.has(result.exitCode) ? { ...result, exitCode: 0 } : result;
  };

/** Where the packages of a change come from: how that is asked, and the words that say it. */
export interface Source {
  readonly ask: (words: readonly string[], signal: AbortSignal) => Promise<CommandResult>;
  readonly options: readonly string[];
  readonly words: readonly string[];
}

export interface Wanted {
  readonly unit: string;
  readonly changes: readonly PlainChange[];
  /** The repositories unless given, or nothing where there are only removals. */
  readonly source?: Source;
  readonly onLine?: (line: string) => void;
}

export function createExact(ports: {
  readonly asking: Pick<Asking, "tryAsking" | "tryInstalled">;
  readonly transact: ReturnType<typeof createTransactions>;
  readonly database: ReturnType<typeof createDatabase>;
  readonly places: ZypperPlaces;
  readonly folder: string;
}): (wanted: Wanted, signal: AbortSignal) => Promise<string> {
  const { asking, transact, database, places, folder } = ports;

  const usualSource = (changes: readonly PlainChange[]): Source => {
    const words = wordsFor(changes);
    return changes.every(({ to }) => to === null)
      ? { ask: asking.tryInstalled, options: onlyInstalled, words }
      : { ask: asking.tryAsking, options: [], words };
  };

  /** @throws UpdateRefused where zypper would do anything else. */
  const demandSame = async ({ ask, words }: Source, changes: readonly PlainChange[], signal: AbortSignal) => {
    const told = (some: readonly PlainChange[]) => some.map((change) => ({ ...change, isSecurity: false }));
    const { changes: now } = await simulate(ask, words, signal).catch((error: unknown) => {
      if (error instanceof NoLists) throw new UpdateRefused("the package lists are gone: they have to be refreshed");
      if (!(error instanceof UpdateRefused)) throw error;
      throw new UpdateRefused(`what would be done has changed since it was planned: ${error.message}`);
    });
    if (!areSame(told(now), told(changes)))
      throw new UpdateRefused(
        `what would be done has changed since it was planned (now ${describeChanges(told(now))})`,
      );
  };

  /** Zypper takes what it is told to install for wanted by somebody. What is remembered of an earlier attempt stays. */
  const rememberMarks = async (path: string, changes: readonly PlainChange[], signal: AbortSignal) => {
    const before = parseAutoInstalled((await orUndefined(readFile(path, "utf8"))) ?? "");
    const names = new Set([...before, ...automaticAfter(changes, await database(signal))]);
    if (names.size > 0) await writeMarks(path, names);
    return names.size > 0;
  };

  return async ({ unit, changes, source = usualSource(changes), onLine }, signal) => {
    const before = (): Promise<void> => demandSame(source, changes, signal);
    await before();
    const marks = join(folder, `${unit}.auto`);
    const isMarked = await rememberMarks(marks, changes, signal);
    const [verb = "", ...words] = source.words;
    // All packages are there, and are what they should be, before the first one is changed.
    const argv = [
      ...places.zypper,
      ...commonWords,
      ...source.options,
      verb,
      "--download",
      "in-advance",
      ...words,
    ] as const;
    const output = await transact(
      {
        unit,
        description: "Steward changes packages (zypper install)",
        argv,
        locks: [places.lock],
        before,
        timeoutMs: longestMs,
        ...(isMarked && { afterwards: [marksCommand(marks, places)] }),
        ...(onLine !== undefined && { onLine }),
      },
      signal,
    );
    await rm(marks, { force: true });
    return output;
  };
}

export async function writeMarks(path: string, names: ReadonlySet<string>): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  writeFileAtomic(path, ["# packages that came along with others", ...[...names].sort(), ""].join("\n"));
}

export const marksCommand = (
  path: string,
  { autoInstalled }: Pick<ZypperPlaces, "autoInstalled">,
): readonly [string, ...string[]] => ["/usr/bin/install", "-D", "--mode=644", path, autoInstalled];
