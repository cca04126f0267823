import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { CommandOptions, CommandResult } from "#adapters/exec/index.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { InstalledPackage, PackageVersion } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";
import { toInstalledPackages } from "../common/changes.ts";
import { createOpenLocks, isLeftOver } from "../common/locks.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import type { Argv, PackagePorts } from "../common/ports.ts";
import { createPattern } from "../common/rpm/names.ts";
import { byName } from "../common/rpm/offers.ts";
import { createTransactions, LockHeld, type Transact, type Transaction } from "../common/transactions.ts";
import { failureReason, pacmanOutput } from "./output.ts";
import { type InstalledRecord, parseEntry, parseInstalled } from "./records.ts";

export function pacmanPlaces(root = "/") {
  const isTree = root !== "/";
  const below = (path: string): string => join(root, path);
  const settings = ["--config", below("etc/pacman.conf")];
  const log = "var/log/pacman.log";
  const tree = [
    ...["--root", root, ...settings],
    ...["--cachedir", below("var/cache/pacman/pkg"), "--logfile", below(log)],
  ];
  return {
    pacman: ["/usr/bin/pacman", ...(isTree ? tree : [])] as Argv,
    settingsReader: ["/usr/bin/pacman-conf", ...(isTree ? settings : [])] as Argv,
    /** Its databases: `local`, what is installed, and `sync`, the package lists. */
    databases: below("var/lib/pacman"),
    lock: below("var/lib/pacman/db.lck"),
    /** Lists of the service's own: those of the host change only together with its packages. */
    lists: below("var/cache/steward-pacman"),
    settings: [below("etc/pacman.conf"), below("etc/pacman.d")],
    log: below(log),
  };
}

export type PacmanPlaces = ReturnType<typeof pacmanPlaces>;

export interface PacmanDatabase {
  readonly packages: readonly InstalledRecord[];
  /** Packages whose entry is there and not whole: pacman was stopped while it changed them. */
  readonly partial: readonly PackageVersion[];
  readonly isHeld: (found: Pick<InstalledRecord, "name" | "groups">) => boolean;
  readonly mark: string;
}

/** Words of each change: no question, and lines instead of bars. */
export const changing = ["--noconfirm", "--noprogressbar"] as const;

type Listening = Pick<CommandOptions, "onOutput">;

const atOnce = 64;

async function entryNames(local: string): Promise<readonly string[]> {
  const names = (await orUndefined(readdir(local))) ?? [];
  return names.filter((name) => parseEntry(name) !== undefined).sort();
}

async function readEntries(local: string, signal: AbortSignal): Promise<Pick<PacmanDatabase, "packages" | "partial">> {
  const packages: InstalledRecord[] = [];
  const partial: PackageVersion[] = [];
  const read = async (entry: string): Promise<void> => {
    const directory = join(local, entry);
    const found = parseInstalled(await readTextOrEmpty(join(directory, "desc")));
    // The list of its files is written last.
    const hasFiles = (await orUndefined(stat(join(directory, "files")))) !== undefined;
    const named = parseEntry(entry);
    if (found !== undefined && hasFiles) packages.push(found);
    else if (named !== undefined && (await orUndefined(stat(directory))) !== undefined)
      partial.push({ ...named, architecture: "" });
  };
  const names = await entryNames(local);
  for (let at = 0; at < names.length; at += atOnce) {
    signal.throwIfAborted();
    await Promise.all(names.slice(at, at + atOnce).map(read));
  }
  return { packages: packages.sort(byName), partial: partial.sort(byName) };
}

export const toInstalled = (state: PacmanDatabase): readonly InstalledPackage[] =>
  toInstalledPackages(state, ({ isManual }) => isManual);

export const cannotAsk = ({ exitCode, stdout, stderr }: CommandResult): ManagerRefuses =>
  new ManagerRefuses("pacman", failureReason(`${stdout}\n${stderr}`, exitCode));

export const describeLeftLock = ({ lock }: Pick<PacmanPlaces, "lock">): string =>
  `${lock} is left of a pacman that was stopped in the middle of its work, and nobody holds it: see what it was doing, then remove that file`;

export function openPacman(ports: PackagePorts) {
  const { exec, root = "/" } = ports;
  const places = pacmanPlaces(root);
  const locks = createOpenLocks();
  const transact: Transact = createTransactions({ ...ports, locks, reader: pacmanOutput });
  const local = join(places.databases, "local");
  const remembered = rememberByMark<PacmanDatabase>();

  const run = (argv: Argv, signal: AbortSignal, options: Listening = {}): Promise<CommandResult> =>
    askWhole({ exec, manager: "pacman" }, argv, signal, options);
  const demandAnswer = (result: CommandResult): string => {
    if (result.exitCode !== 0) throw cannotAsk(result);
    return result.stdout;
  };
  const tryAsking = (
    databases: string,
    words: readonly string[],
    signal: AbortSignal,
    options: Listening = {},
  ): Promise<CommandResult> => run([...places.pacman, "--dbpath", databases, "--noconfirm", ...words], signal, options);

  const settings = async (name: string, signal: AbortSignal): Promise<readonly string[]> => {
    const answer = demandAnswer(await run([...places.settingsReader, name], signal));
    return answer.split("\n").filter((value) => value !== "");
  };

  const readHolds = async (signal: AbortSignal): Promise<PacmanDatabase["isHeld"]> => {
    const names = (await settings("IgnorePkg", signal)).map(createPattern);
    const groups = (await settings("IgnoreGroup", signal)).map(createPattern);
    return (each) => names.some((matches) => matches(each.name)) || groups.some((matches) => each.groups.some(matches));
  };

  return {
    exec,
    root,
    places,
    settings,
    tryAsking,
    ask: async (databases: string, words: readonly string[], signal: AbortSignal) =>
      demandAnswer(await tryAsking(databases, words, signal)),

    database: async (signal: AbortSignal): Promise<PacmanDatabase> => {
      const entries = (await entryNames(local)).map((name) => join(local, name));
      const mark = await marksOf([...entries, ...places.settings]);
      return remembered(mark, async () => {
        return { ...(await readEntries(local, signal)), isHeld: await readHolds(signal), mark };
      });
    },

    writer: () => locks.holder(places.lock),
    isLockLeft: () => isLeftOver(places.lock, locks),

    /** A lock without a holder is reported and never removed: a person has to look at what was interrupted. */
    hostTransact: async (transaction: Omit<Transaction, "locks">, signal: AbortSignal): Promise<string> => {
      try {
        return await transact({ ...transaction, locks: [places.lock] }, signal);
      } catch (error) {
        if (!(error instanceof LockHeld) || error.holder !== undefined || !(await isLeftOver(places.lock, locks)))
          throw error;
        throw new LockHeld(describeLeftLock(places), undefined);
      }
    },

    /** Changes only the service's own lists; a lock that is left there hinders nobody. */
    listsTransact: (transaction: Omit<Transaction, "locks" | "before">, signal: AbortSignal): Promise<string> => {
      const lock = join(places.lists, "db.lck");
      const before = async (): Promise<void> => {
        if (await isLeftOver(lock, locks)) await rm(lock, { force: true });
      };
      return transact({ ...transaction, locks: [lock], before }, signal);
    },
  };
}

export type Pacman = ReturnType<typeof openPacman>;
