import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CommandResult } from "#adapters/exec/index.ts";
import { orUndefined } from "#kernel/errors.ts";
import { ManagerRefuses } from "../common/asking.ts";
import { toInstalledPackages } from "../common/changes.ts";
import { contentMark, databaseFiles, marksOf, rememberByMark, sortedNames } from "../common/marks.ts";
import { hostPlaces, type PackagePorts } from "../common/ports.ts";
import { createPattern, formsOf } from "../common/rpm/names.ts";
import { byName, NoLists } from "../common/rpm/offers.ts";
import { createTransactions } from "../common/transactions.ts";
import type { Dialect, Dnf, InstalledRpm, Run } from "./dialect.ts";
import { installedFormat, parseInstalled } from "./repoquery.ts";

export function openDnf(ports: PackagePorts, dialect: Dialect): Dnf {
  const { exec, root } = ports;
  const places = dialect.places(root);
  const locks = dialect.locks();
  const run = dialect.createRun(ports, places);
  const remembered = rememberByMark<readonly InstalledRpm[]>();

  const cannotAsk = (result: CommandResult): ManagerRefuses =>
    new ManagerRefuses(dialect.name, dialect.output.failureReason(dialect.toldIn(result), result.exitCode));

  /** @throws NoLists. */
  const tryAsking: Run = async (words, signal, options = {}) => {
    const result = await run(words, signal, options);
    if (/^(?:Error: )?Cache-only enabled but no cache for /m.test(result.stderr))
      throw new NoLists(cannotAsk(result).message);
    return result;
  };

  /** @throws NoLists; ManagerRefuses where dnf does not answer. */
  const ask = async (...given: Parameters<Run>): Promise<string> => {
    const result = await tryAsking(...given);
    // 100 says that there are updates.
    if (result.exitCode !== 0 && result.exitCode !== 100) throw cannotAsk(result);
    return result.stdout;
  };

  const asking = { exec, places, ask, tryAsking };

  const holds = dialect.createHolds(asking);

  return {
    ...asking,
    dialect,
    cannotAsk,
    directory: (ports.places ?? hostPlaces).output,
    formatted: (format) => `--queryformat=${format}${dialect.recordEnd}`,
    changingArgv: (...words) => [...places.dnf, ...dialect.changing, ...words],

    database: async (signal) => {
      const mark = `${await databaseMark(places.databases, places.history)}\n${await marksOf(places.reasons)}`;
      const packages = await remembered(mark, async () => {
        const all = [dialect.withoutRepositories, dialect.withExcluded];
        const words = ["repoquery", ...all, "--installed", `--queryformat=${installedFormat}${dialect.recordEnd}`];
        return dialect.withReasons(parseInstalled(await ask(words, signal)), places).toSorted(byName);
      });
      const patterns = (await holds(signal)).map(createPattern);
      return { packages, isHeld: (found) => patterns.some((matches) => formsOf(found).some(matches)), mark };
    },

    isAutomatic: ({ reason }) => dialect.automatic.has(reason),
    toInstalled: (state) => toInstalledPackages(state, ({ reason }) => !dialect.automatic.has(reason)),
    writer: () => locks.holder(places.transactionLock),
    transact: createTransactions({ ...ports, locks, reader: dialect.output }),
  };
}

/**
 * A text that changes when rpm's database or the history does, and not because somebody reads them.
 * @param history the file of its database.
 */
export async function databaseMark(databases: readonly string[], history: string): Promise<string> {
  const files = await databaseFiles(databases);
  const journal = `${history}-wal`;
  const hasJournal = (await orUndefined(stat(journal))) !== undefined;
  // As long as there is a journal, changes are in there, and the file itself is written by readers.
  return (await Promise.all([...files, hasJournal ? journal : history].map(contentMark))).join("\n");
}

/** @param lists a directory with one of each repository. */
export async function listsMark(lists: string): Promise<string> {
  const names = await sortedNames(lists);
  return (await Promise.all(names.map((name) => contentMark(join(lists, name, "repodata", "repomd.xml"))))).join("\n");
}

export async function listsAt(lists: string): Promise<number | undefined> {
  const names = (await orUndefined(readdir(lists))) ?? [];
  const times = await Promise.all(names.map((name) => newestIn(join(lists, name, "repodata"))));
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Where dnf has asked and nothing was new, it sets the time of one of the files. */
async function newestIn(directory: string): Promise<number | undefined> {
  const names = (await orUndefined(readdir(directory))) ?? [];
  const files = await Promise.all(names.map((name) => orUndefined(stat(join(directory, name)))));
  const times = files.flatMap((file) => file?.mtimeMs ?? []);
  return times.length === 0 ? undefined : Math.floor(Math.max(...times));
}
