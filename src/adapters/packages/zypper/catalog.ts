import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageCatalog } from "#domain/ports/package-catalog.ts";
import type { PackageVersion } from "#domain/ports/packages.ts";
import type { Described, ListedName, Lists } from "../common/catalog.ts";
import { nevraOf } from "../common/rpm/names.ts";
import { orWithoutLists } from "../common/rpm/offers.ts";
import { createRpmCatalog } from "../common/rpm/present.ts";
import { demandAnswer } from "./asking.ts";
import { toInstalled, type Zypper } from "./host.ts";
import { createListReader, parseInfo } from "./listed.ts";
import { parseFound } from "./lists.ts";
import { createHistory } from "./log.ts";

const none: ListedName = { versions: [], candidates: [], described: () => undefined };
const nothingFound = 104;
const onlyPackages = ["--type", "package"] as const;

function createLists({ tryAsking, askTable, database }: Zypper): Lists {
  const ask = async (words: readonly string[], name: string, signal: AbortSignal): Promise<string> => {
    const result = await tryAsking([...words, ...onlyPackages, "--", name], signal);
    return result.exitCode === nothingFound ? "" : demandAnswer(result);
  };

  const named = async (name: string, signal: AbortSignal): Promise<ListedName> => {
    const reported = await ask(["info", "--provides", "--requires"], name, signal);
    const records = parseInfo(reported).filter((each) => each.name === name);
    const versions = parseFound(await ask(["search", "--details", "--match-exact"], name, signal));
    const { packages, isHeld } = await database(signal);
    const isKept = packages.some((each) => each.name === name && isHeld(each));
    const known = new Map(records.map((each) => [nevraOf(each), each]));
    const [best] = records;
    // Zypper describes one of several architectures.
    const alike = (found: PackageVersion): Described | undefined =>
      best && { ...best, ...found, installedBytes: undefined, depends: [], provides: [] };
    return {
      versions: versions.filter((each) => each.name === name),
      candidates: isKept ? [] : records,
      described: (found) => known.get(nevraOf(found)) ?? alike(found),
    };
  };

  return {
    async each(take, signal) {
      const reader = createListReader(take);
      await askTable(["search", "--verbose", ...onlyPackages], signal, { onOutput: reader.take });
      reader.end();
    },
    named: (name, signal) => orWithoutLists(named(name, signal), none),
  };
}

/** Packages that libzypp takes for part of the system, as its own settings name them. */
const parseSystemCheck = (text: string): readonly string[] =>
  text.split("\n").flatMap((line) => /^\s*requires:\s*(\S+)\s*$/.exec(line)?.[1] ?? []);

const markMs = 60_000;

export function createCatalog(zypper: Zypper): PackageCatalog {
  const { exec, places, database } = zypper;
  return createRpmCatalog({
    exec,
    rpm: places.rpm,
    installed: async (signal) => toInstalled(await database(signal)),
    async mark() {
      const signal = AbortSignal.timeout(markMs);
      return `${(await database(signal)).mark}\n${await zypper.listsMark(signal)}`;
    },
    lists: createLists(zypper),
    protectedNames: async () => new Set(["zypper", ...parseSystemCheck(await readTextOrEmpty(places.systemCheck))]),
    history: createHistory(zypper),
    historyLog: places.history,
  });
}
