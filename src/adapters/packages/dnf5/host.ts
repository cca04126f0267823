import { join } from "node:path";
import type { CommandOptions, CommandResult } from "#adapters/exec/index.ts";
import type { InstalledPackage, PackageVersion } from "#domain/ports/packages.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";
import { toInstalledPackages } from "../common/changes.ts";
import { createLockTable } from "../common/locks.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import { type Argv, hostPlaces, type PackagePorts } from "../common/ports.ts";
import { databaseMark } from "../common/rpm/marks.ts";
import { createPattern, formsOf } from "../common/rpm/names.ts";
import { byName, NoLists } from "../common/rpm/offers.ts";
import { type InstalledRpm, installedFormat, parseInstalled } from "../common/rpm/queries.ts";
import { createTransactions } from "../common/transactions.ts";
import { parseExcludes, parseVersionLocks } from "./answers.ts";
import { dnf5Output, failureReason } from "./output.ts";

export const program = "/usr/bin/dnf5";

/** No log can be written there: queries leave none, neither in the log of the host nor in a home. */
const withoutLog = "--setopt=logdir=/proc";

/** Asks dnf5 itself, which may be broken where rpm is not. It is answered while packages change as well. */
export const probe: Argv = [program, withoutLog, "--setopt=reposdir=", "history", "info", "last"];

export interface Dnf5Places {
  readonly dnf5: Argv;
  readonly rpm: Argv;
  readonly databases: readonly string[];
  readonly history: string;
  readonly reasons: string;
  readonly lists: string;
  /** Held while packages change. */
  readonly transactionLock: string;
  /** Held for writing by whoever is about to change packages, from before it asks. */
  readonly systemLock: string;
  readonly settings: readonly string[];
  readonly automatic: readonly string[];
  readonly protectedFolders: readonly string[];
  readonly users: string;
}

function dnf5Places(root = "/"): Dnf5Places {
  const isTree = root !== "/";
  const below = (path: string): string => join(root, path);
  const state = below("usr/lib/sysimage/libdnf5");
  const settings = [
    "etc/dnf/dnf.conf",
    "etc/dnf/versionlock.toml",
    "etc/dnf/libdnf5.conf.d",
    "etc/dnf/repos.override.d",
    "etc/dnf/vars",
    "etc/yum.repos.d",
    "etc/distro.repos.d",
    "usr/share/dnf5/libdnf.conf.d",
    "usr/share/dnf5/repos.override.d",
  ];
  return {
    dnf5: [program, ...(isTree ? [`--installroot=${root}`] : [])],
    rpm: ["/usr/bin/rpm", ...(isTree ? ["--root", root] : [])],
    databases: [below("var/lib/rpm"), below("usr/lib/sysimage/rpm")],
    history: join(state, "transaction_history.sqlite"),
    reasons: join(state, "packages.toml"),
    lists: below("var/cache/libdnf5"),
    transactionLock: below("run/dnf/rpmtransaction.lock"),
    systemLock: below("var/lib/dnf/system-repo.lock"),
    settings: settings.map(below),
    // From the weakest to the strongest.
    automatic: [
      below("usr/share/dnf5/dnf5-plugins/automatic.conf"),
      below("etc/dnf/automatic.conf"),
      below("etc/dnf/dnf5-plugins/automatic.conf"),
    ],
    protectedFolders: [below("etc/dnf/protected.d")],
    users: below("etc/passwd"),
  };
}

/** Questions about what is installed: no list is needed. */
export const withoutRepositories = "--setopt=reposdir=";
/** Without what keeps packages back: versionlock too. */
export const withoutHolds = "--setopt=disable_excludes=*";

/** Options that dnf5 may refuse, with what it says then. Without them it answers as well, only not always. */
const optional: Readonly<Record<string, string>> = {
  // While packages change a question would wait for the end of that. Versions before neither have the lock nor the option.
  "--setopt=skip_system_repo_lock=1": 'Option "skip_system_repo_lock" not found',
  // Lists are verified when they are loaded, by root, whose keyring nobody else can use. There may be no repository.
  "--setopt=*.repo_gpgcheck=0": "No matching repositories for *",
};

export interface RpmDatabase {
  readonly packages: readonly InstalledRpm[];
  /** Whether a package is kept from being changed, by versionlock or as excluded. */
  readonly isHeld: (found: PackageVersion) => boolean;
  readonly mark: string;
}

const automatic: ReadonlySet<string> = new Set(["Dependency", "Weak Dependency", "Clean"]);

export const isAutomatic = ({ reason }: Pick<InstalledRpm, "reason">): boolean => automatic.has(reason);

export const toInstalled = (state: RpmDatabase): readonly InstalledPackage[] =>
  toInstalledPackages(state, (found) => !isAutomatic(found));

export const cannotAsk = ({ exitCode, stdout, stderr }: CommandResult): ManagerRefuses =>
  new ManagerRefuses("dnf5", failureReason(`${stdout}\n${stderr}`, exitCode));

export function openDnf5(ports: PackagePorts) {
  const { exec, root, places = hostPlaces } = ports;
  const where = dnf5Places(root);
  const locks = createLockTable();
  const remembered = rememberByMark<readonly InstalledRpm[]>();
  const rememberedHolds = rememberByMark<readonly string[]>();

  const run = async (
    words: readonly string[],
    signal: AbortSignal,
    running: Pick<CommandOptions, "onOutput"> = {},
    options = Object.keys(optional).filter((each) => !each.includes("*.") || !words.includes(withoutRepositories)),
  ): Promise<CommandResult> => {
    const asking = [
      "--cacheonly",
      "--quiet",
      withoutLog,
      // Without these an unprivileged user looks for lists at home, and writes there.
      `--setopt=cachedir=${where.lists}`,
      "--setopt=build_cache=0",
      ...options,
    ];
    const result = await askWhole({ exec, manager: "dnf5" }, [...where.dnf5, ...asking, ...words], signal, running);
    const refused = options.filter(
      (option) => result.exitCode === 2 && result.stderr.includes(optional[option] ?? option),
    );
    if (refused.length === 0) return result;
    return run(
      words,
      signal,
      running,
      options.filter((option) => !refused.includes(option)),
    );
  };

  const tryAsking = async (
    words: readonly string[],
    signal: AbortSignal,
    options: Pick<CommandOptions, "onOutput"> = {},
  ): Promise<CommandResult> => {
    const result = await run(words, signal, options);
    if (/^Cache-only enabled but no cache for repository /m.test(result.stderr))
      throw new NoLists(cannotAsk(result).message);
    return result;
  };

  /** @throws NoLists; CommandFailed where dnf5 does not answer. */
  const ask = async (
    words: readonly string[],
    signal: AbortSignal,
    options: Pick<CommandOptions, "onOutput"> = {},
  ): Promise<string> => {
    const result = await tryAsking(words, signal, options);
    if (result.exitCode !== 0) throw cannotAsk(result);
    return result.stdout;
  };

  const holds = async (signal: AbortSignal): Promise<readonly string[]> =>
    rememberedHolds(await marksOf(where.settings), async () => [
      ...parseVersionLocks(await ask([withoutRepositories, "versionlock", "list"], signal)),
      ...parseExcludes(await ask(["--dump-main-config"], signal)),
    ]);

  return {
    places: where,
    folder: places.output,
    ask,
    tryAsking,

    database: async (signal: AbortSignal): Promise<RpmDatabase> => {
      const mark = `${await databaseMark(where.databases, where.history)}\n${await marksOf([where.reasons])}`;
      const packages = await remembered(mark, async () => {
        // What is excluded is there all the same.
        const all = [withoutRepositories, withoutHolds];
        const words = ["repoquery", ...all, "--installed", `--queryformat=${installedFormat}\\n`];
        return parseInstalled(await ask(words, signal)).toSorted(byName);
      });
      const patterns = (await holds(signal)).map(createPattern);
      return { packages, isHeld: (found) => patterns.some((matches) => formsOf(found).some(matches)), mark };
    },

    writer: () => locks.holder(where.transactionLock),
    transact: createTransactions({ ...ports, locks, reader: dnf5Output }),
  };
}

export type Dnf5 = ReturnType<typeof openDnf5>;
