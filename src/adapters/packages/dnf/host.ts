import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandOptions, CommandResult } from "#adapters/exec/index.ts";
import type { InstalledPackage, PackageVersion } from "#domain/ports/packages.ts";
import { createSlots } from "#kernel/async.ts";
import { orElse, orUndefined } from "#kernel/errors.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";
import { toInstalledPackages } from "../common/changes.ts";
import { createPidLocks } from "../common/locks.ts";
import { rememberByMark } from "../common/marks.ts";
import { type Argv, hostPlaces, type PackagePorts } from "../common/ports.ts";
import { databaseMark } from "../common/rpm/marks.ts";
import { createPattern, formsOf, nameAndArchitecture } from "../common/rpm/names.ts";
import { byName, NoLists } from "../common/rpm/offers.ts";
import { type InstalledRpm, installedFormat, parseInstalled } from "../common/rpm/queries.ts";
import { createTransactions } from "../common/transactions.ts";
import { readReasons } from "./history.ts";
import { parseExcludes, parseVersionLocks } from "./lists.ts";
import { dnfOutput, failureReason } from "./output.ts";

export interface DnfPlaces {
  readonly dnf: Argv;
  readonly rpm: Argv;
  readonly databases: readonly string[];
  readonly history: string;
  readonly lists: string;
  /** Names the process that changes packages; it is left behind when that one is killed. */
  readonly transactionLock: string;
  readonly listsLocks: readonly string[];
  readonly settings: readonly string[];
  readonly mainSettings: string;
  readonly versionLocks: string;
  /** Of the plugin, where it is there. */
  readonly versionLockSettings: string;
  readonly protectedFolders: readonly string[];
  readonly users: string;
}

function dnfPlaces(root = "/"): DnfPlaces {
  const isTree = root !== "/";
  const below = (path: string): string => join(root, path);
  return {
    dnf: ["/usr/bin/dnf", ...(isTree ? [`--installroot=${root}`] : [])],
    rpm: ["/usr/bin/rpm", ...(isTree ? ["--root", root] : [])],
    databases: [below("var/lib/rpm"), below("usr/lib/sysimage/rpm")],
    history: below("var/lib/dnf/history.sqlite"),
    lists: below("var/cache/dnf"),
    transactionLock: below("var/lib/dnf/rpmdb_lock.pid"),
    listsLocks: [below("var/cache/dnf/metadata_lock.pid"), below("var/cache/dnf/download_lock.pid")],
    settings: [below("etc/dnf/dnf.conf"), below("etc/yum.repos.d"), "/etc/dnf/plugins"],
    mainSettings: below("etc/dnf/dnf.conf"),
    // Plugins are those of the host, for a tree as well.
    versionLocks: "/etc/dnf/plugins/versionlock.list",
    versionLockSettings: "/etc/dnf/plugins/versionlock.conf",
    protectedFolders: [below("etc/dnf/protected.d"), below("etc/yum/protected.d")],
    users: below("etc/passwd"),
  };
}

const onlyAsking = ["--cacheonly", "--quiet", "--setopt=exit_on_lock=1", "--setopt=logfilelevel=0"] as const;
/** The exit code of a dnf that did not get a lock. */
const lockedCode = 200;
const longestWaitMs = 60_000;
const betweenLooksMs = 500;
/** Questions about what is installed: no list is needed. */
export const withoutRepositories = "--disablerepo=*";

export interface RpmDatabase {
  readonly packages: readonly InstalledRpm[];
  /** Whether a package is kept from being changed, by versionlock or as excluded. */
  readonly isHeld: (found: PackageVersion) => boolean;
  readonly mark: string;
}

const automatic: ReadonlySet<string> = new Set(["dependency", "weak-dependency", "clean"]);

export const toInstalled = (state: RpmDatabase): readonly InstalledPackage[] =>
  toInstalledPackages(state, ({ reason }) => !automatic.has(reason));

export const cannotAsk = ({ exitCode, stderr }: CommandResult): ManagerRefuses =>
  new ManagerRefuses("dnf", failureReason(stderr, exitCode));

/** Dnf knows no reason for whom it does not show its history, which is everybody but root. */
function withReasons(packages: readonly InstalledRpm[], history: string): readonly InstalledRpm[] {
  if (packages.every(({ reason }) => reason !== "unknown")) return packages;
  // Where it cannot be read here either, they stay unknown, as to dnf itself.
  const reasons = orElse(() => readReasons(history), new Map<string, string>());
  return packages.map((each) =>
    each.reason === "unknown" ? { ...each, reason: reasons.get(nameAndArchitecture(each)) ?? each.reason } : each,
  );
}

const programs = ["dnf", "dnf-3", "dnf-automatic", "yum", "microdnf", "packagekitd"];

export function openDnf(ports: PackagePorts) {
  const { exec, clock, root, places = hostPlaces } = ports;
  const inTurn = createSlots(1);
  const where = dnfPlaces(root);
  const locks = createPidLocks(programs);
  const remembered = rememberByMark<readonly InstalledRpm[]>();

  /** Also a question takes the lock of the lists for a moment, and fails where another one has it. */
  const whenUnlocked = async (
    words: readonly string[],
    signal: AbortSignal,
    options: Pick<CommandOptions, "onOutput">,
  ): Promise<CommandResult> => {
    const startedAtMs = clock.monotonicMs();
    for (;;) {
      const argv: Argv = [...where.dnf, ...onlyAsking, ...words];
      const result = await askWhole({ exec, manager: "dnf" }, argv, signal, options);
      const isOver = clock.monotonicMs() - startedAtMs >= longestWaitMs;
      if (result.exitCode !== lockedCode || isOver) return result;
      await clock.sleep(betweenLooksMs, signal);
    }
  };

  const tryAsking = async (
    words: readonly string[],
    signal: AbortSignal,
    options: Pick<CommandOptions, "onOutput"> = {},
  ): Promise<CommandResult> => {
    const result = await inTurn(() => whenUnlocked(words, signal, options), signal);
    if (/^Error: Cache-only enabled but no cache for /m.test(result.stderr))
      throw new NoLists(cannotAsk(result).message);
    return result;
  };

  /** @throws NoLists; CommandFailed where dnf does not answer. */
  const ask = async (
    words: readonly string[],
    signal: AbortSignal,
    options: Pick<CommandOptions, "onOutput"> = {},
  ): Promise<string> => {
    const result = await tryAsking(words, signal, options);
    // 100 says that there are updates.
    if (result.exitCode !== 0 && result.exitCode !== 100) throw cannotAsk(result);
    return result.stdout;
  };

  const patternsIn = async (): Promise<readonly ((text: string) => boolean)[]> => {
    const [versionLocks, settings] = await Promise.all(
      [where.versionLocks, where.mainSettings].map((path) => orUndefined(readFile(path, "utf8"))),
    );
    return [...parseVersionLocks(versionLocks ?? ""), ...parseExcludes(settings ?? "")].map(createPattern);
  };

  return {
    places: where,
    folder: places.output,
    ask,
    tryAsking,

    database: async (signal: AbortSignal): Promise<RpmDatabase> => {
      const mark = await databaseMark(where.databases, where.history);
      const packages = await remembered(mark, async () => {
        // What is excluded is there all the same.
        const all = [withoutRepositories, "--disableexcludes=all"];
        const words = ["repoquery", ...all, "--installed", `--queryformat=${installedFormat}`];
        return withReasons(parseInstalled(await ask(words, signal)), where.history).toSorted(byName);
      });
      const patterns = await patternsIn();
      return { packages, isHeld: (found) => patterns.some((matches) => formsOf(found).some(matches)), mark };
    },

    writer: () => locks.holder(where.transactionLock),
    transact: createTransactions({ ...ports, locks, reader: dnfOutput }),
  };
}

export type Dnf = ReturnType<typeof openDnf>;
