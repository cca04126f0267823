import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageVersion } from "#domain/ports/packages.ts";
import { orUndefinedSync } from "#kernel/errors.ts";
import { askWhole } from "../common/asking.ts";
import { type PlainChange, removalOf } from "../common/changes.ts";
import { createLockTable } from "../common/locks.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import type { Missing } from "../common/package-files.ts";
import { type Findings, leftovers } from "../common/rpm/findings.ts";
import { comparePackageVersions, nameAndArchitecture, nevraOf } from "../common/rpm/names.ts";
import {
  asksReboot,
  automaticReasons,
  parseAdvisories,
  parseCheck,
  parseCheckUpgrade,
  parseExcludes,
  parseHistory,
  parseTransaction,
  parseVersionLocks,
  type Transaction,
} from "./answers5.ts";
import type { Asking, Dialect, Dnf, DnfPlaces, Run, StoredAction } from "./dialect.ts";
import { createHistory } from "./history5.ts";
import { failureReason, isUnresolved, parseLockConflict, parsePlan, parseStep, scriptFailures } from "./output5.ts";
import { checked } from "./plans.ts";
import { findingsOf } from "./repairs.ts";
import { replay, storedTransaction } from "./replay.ts";

const program5 = "/usr/bin/dnf5";

/** No log can be written there: queries leave none, neither in the log of the host nor in a home. */
const withoutLog = "--setopt=logdir=/proc";

/** Whether the host's `dnf` is this one, and not dnf 4 or none. */
const isTheDnf = (): boolean => orUndefinedSync(() => realpathSync("/usr/bin/dnf")) === realpathSync(program5);

function placesIn(root = "/"): DnfPlaces {
  const isTree = root !== "/";
  const below = (path: string): string => join(root, path);
  const state = below("usr/lib/sysimage/libdnf5");
  const transactionLock = below("run/dnf/rpmtransaction.lock");
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
    dnf: [program5, ...(isTree ? [`--installroot=${root}`] : [])],
    rpm: ["/usr/bin/rpm", ...(isTree ? ["--root", root] : [])],
    databases: [below("var/lib/rpm"), below("usr/lib/sysimage/rpm")],
    history: join(state, "transaction_history.sqlite"),
    reasons: [join(state, "packages.toml")],
    lists: below("var/cache/libdnf5"),
    transactionLock,
    // The second is held for writing by anyone who is about to change packages, from before it asks.
    changeLocks: [transactionLock, below("var/lib/dnf/system-repo.lock")],
    listsLocks: [transactionLock],
    mainSettings: below("etc/dnf/dnf.conf"),
    settings: settings.map(below),
    automatic: [
      below("usr/share/dnf5/dnf5-plugins/automatic.conf"),
      below("etc/dnf/automatic.conf"),
      below("etc/dnf/dnf5-plugins/automatic.conf"),
    ],
    protectedDirectories: [below("etc/dnf/protected.d")],
    users: below("etc/passwd"),
  };
}

const withoutRepositories = "--setopt=reposdir=";
const withoutHolds = "--setopt=disable_excludes=*";

/** Options that dnf5 may refuse, with what it says then. Without them it answers as well, only not always. */
const optional: Readonly<Record<string, string>> = {
  // While packages change a question would wait for the end of that. Versions before neither have the lock nor the option.
  "--setopt=skip_system_repo_lock=1": 'Option "skip_system_repo_lock" not found',
  // Lists are verified when they are loaded, by root, whose keyring nobody else can use. There may be no repository.
  "--setopt=*.repo_gpgcheck=0": "No matching repositories for *",
};

const createRun: Dialect["createRun"] = ({ exec }, { dnf, lists }) => {
  const runWith = async (options: readonly string[], ...given: Parameters<Run>): ReturnType<Run> => {
    const [words, signal, running = {}] = given;
    const asking = [
      "--cacheonly",
      "--quiet",
      withoutLog,
      // Without these an unprivileged user looks for lists at home, and writes there.
      `--setopt=cachedir=${lists}`,
      "--setopt=build_cache=0",
      ...options,
    ];
    const result = await askWhole({ exec, manager: "dnf5" }, [...dnf, ...asking, ...words], signal, running);
    const isRefused = (option: string): boolean =>
      result.exitCode === 2 && result.stderr.includes(optional[option] ?? option);
    const left = options.filter((option) => !isRefused(option));
    return left.length === options.length ? result : runWith(left, ...given);
  };
  return (words, signal, running) => {
    const isOfNone = words.includes(withoutRepositories);
    const options = Object.keys(optional).filter((each) => !each.includes("*.") || !isOfNone);
    return runWith(options, words, signal, running);
  };
};

const historyOf = async ({ ask }: Pick<Asking, "ask">, signal: AbortSignal) =>
  parseHistory(await ask([withoutRepositories, "history", "list", "--json"], signal));

const transactionOf = async ({ ask }: Pick<Asking, "ask">, id: number, signal: AbortSignal) =>
  parseTransaction(await ask([withoutRepositories, "history", "info", String(id), "--json"], signal));

/** The last transaction, if it was started and has no end. */
async function unfinishedOf(dnf: Pick<Asking, "ask">, signal: AbortSignal): Promise<Transaction | undefined> {
  const [last] = await historyOf(dnf, signal);
  return last?.isUnfinished === true ? transactionOf(dnf, last.id, signal) : undefined;
}

/** What is left of a transaction to be done. @param older versions that are there, of what it was to bring. */
export function restOf(found: Findings, older: readonly PackageVersion[]): readonly PlainChange[] {
  const coming = found.missing.map((each): PlainChange => {
    const { name, architecture, version } = each;
    const from = older.find((other) => nameAndArchitecture(other) === nameAndArchitecture(each));
    return { name, architecture, from: from?.version ?? null, to: version };
  });
  return [...leftovers(found), ...coming, ...found.remaining.map(removalOf)];
}

/** Dnf5 writes down at the end who asked for a package. What a transaction brought that was killed before, nobody did then. */
async function restoreReasons(dnf: Dnf, unit: string, signal: AbortSignal): Promise<void> {
  const unfinished = (await historyOf(dnf, signal)).slice(0, 5).find(({ isUnfinished }) => isUnfinished);
  if (unfinished === undefined) return;
  const { brought } = await transactionOf(dnf, unfinished.id, signal);
  const dependencies = new Set(brought.filter(dnf.isAutomatic).map(nevraOf));
  const { packages } = await dnf.database(signal);
  const lost = packages.filter((each) => each.reason === "External User" && dependencies.has(nevraOf(each)));
  if (lost.length === 0) return;
  const description = "Steward marks what a transaction brought that was interrupted (dnf5 mark)";
  const argv = dnf.changingArgv(withoutRepositories, "mark", "dependency", "--", ...lost.map(nevraOf));
  await dnf.transact({ unit, description, argv, locks: dnf.places.changeLocks }, signal);
}

async function finish(dnf: Dnf, signal: AbortSignal): Promise<void> {
  const unit = "steward-dnf-finish";
  const present = new Set((await dnf.database(signal)).packages.map(nevraOf));
  const replaced = (await unfinishedOf(dnf, signal))?.replaced ?? [];
  const older = replaced.filter((each) => present.has(nevraOf(each)));
  const changes = restOf(await findingsOf(dnf, signal), older);
  if (changes.length > 0) await replay(dnf, { unit, changes }, signal);
  await restoreReasons(dnf, unit, signal);
}

/** @param present what is installed. @param isBeside whether several versions of it may be there. */
export function actionsForFiles(
  { install, remove }: Missing,
  present: readonly PackageVersion[],
  isBeside: (found: PackageVersion) => boolean,
): readonly StoredAction[] {
  const gone = new Set(remove.map(nevraOf));
  const step = (action: string, found: PackageVersion): StoredAction => {
    // Marks are set afterwards.
    return { nevra: checked(found), action, reason: "User", repo_id: "" };
  };
  const coming = install.flatMap((file): readonly StoredAction[] => {
    const old = present.find(
      (each) => nameAndArchitecture(each) === nameAndArchitecture(file) && !gone.has(nevraOf(each)) && !isBeside(each),
    );
    if (old === undefined) return [{ ...step("Install", file), package_path: file.path }];
    const action = comparePackageVersions(file.version, old.version) < 0 ? "Downgrade" : "Upgrade";
    return [{ ...step(action, file), package_path: file.path }, step("Replaced", old)];
  });
  return [...coming, ...remove.map((each) => step("Remove", each))];
}

const timers = ["dnf5-automatic.timer", "dnf-automatic.timer"] as const;

/** Whether these settings, from the weakest to the strongest, let `dnf5 automatic` install what it finds. */
export const appliesUpdates = (settings: readonly string[]): boolean =>
  settings
    .flatMap((text) => [...text.matchAll(/^[ \t]*apply_updates[ \t]*=[ \t]*(\S+)/gm)])
    .map(([, value = ""]) => /^(?:yes|true|on|1)$/i.test(value))
    .at(-1) ?? false;

/** `dnf5 automatic`, unless it only downloads or announces updates. */
async function updaters({ exec, places }: Asking, signal: AbortSignal): Promise<readonly string[]> {
  const settings = places.automatic.map((path) => readTextOrEmpty(path));
  if (appliesUpdates(await Promise.all(settings))) return timers;
  if (!existsSync("/run/systemd/system")) return [];
  // An option in its unit is stronger than the settings.
  const words = ["show", "--property=ExecStart", "--value", "--", "dnf5-automatic.service"] as const;
  const { stdout } = await exec(["/usr/bin/systemctl", ...words], { signal });
  return / --installupdates\b/.test(stdout) ? timers : [];
}

export const dialect5: Dialect = {
  name: "dnf5",
  // Asks dnf5 itself, which may be broken where rpm is not. It is answered while packages change as well.
  probe: [program5, withoutLog, withoutRepositories, "history", "info", "last"],
  commands() {
    const name = isTheDnf() ? "dnf" : "dnf5";
    return {
      finisher: name,
      finish: "",
      installMissing: `${name} install`,
      refreshLists: `${name} makecache`,
      hold: `${name} versionlock add`,
      unhold: `${name} versionlock delete, or its line in excludepkgs,`,
    };
  },
  isPlannedByRoot: false,
  places: placesIn,
  locks: () => createLockTable(),
  createRun,

  withoutRepositories,
  withExcluded: withoutHolds,
  withoutHolds: [withoutHolds],
  changing: ["--assumeyes"],
  planning: ["--assumeno"],
  recordEnd: "\\n",

  output: { failureReason, parseLockConflict },
  scriptFailures,
  toldIn: ({ stdout, stderr }) => `${stdout}\n${stderr}`,
  parseStep,
  parsePlan,
  isRefusal: isUnresolved,

  automatic: automaticReasons,
  withReasons: (packages) => packages,
  createHolds({ ask, places }) {
    const remembered = rememberByMark<readonly string[]>();
    return async (signal) =>
      remembered(await marksOf(places.settings), async () => [
        ...parseVersionLocks(await ask([withoutRepositories, "versionlock", "list"], signal)),
        ...parseExcludes(await ask(["--dump-main-config"], signal)),
      ]);
  },
  updates: async ({ ask }, signal) => parseCheckUpgrade(await ask(["check-upgrade", "--json"], signal)),
  // Those that are held have holes as well.
  advisories: async ({ ask }, signal) =>
    parseAdvisories(await ask([withoutHolds, "advisory", "list", "--json", "--security", "--updates"], signal)),
  history: ({ ask, places }) =>
    createHistory({
      about: (words, signal) => ask([withoutRepositories, "history", ...words, "--json"], signal),
      users: places.users,
    }),
  // Where its plugin is there, dnf5 knows by what was installed since the start.
  asksReboot: async ({ tryAsking }, signal) =>
    asksReboot((await tryAsking([withoutRepositories, "needs-restarting", "--json"], signal)).stdout),
  updaters,
  unfinished: unfinishedOf,
  checking: ["check"],
  parseCheck,

  // Its `--refresh` takes lists of some hours ago for fresh.
  refreshing: ["--setopt=*.metadata_expire=0", "makecache"],
  marking: (isManual) => [withoutHolds, "mark", isManual ? "user" : "dependency"],
  holdsLack: () => undefined,
  lockWords: (_, names) => Promise.resolve(names),

  storedVersion: "1.0",
  reasons: { user: "User", dependency: "Dependency" },
  actionsOf({ from, to }, isBeside) {
    if (from === null) return to === null ? [] : [["Install", to]];
    if (to === null) return [["Remove", from]];
    return isBeside
      ? [
          ["Install", to],
          ["Remove", from],
        ]
      : [
          [comparePackageVersions(to, from) < 0 ? "Downgrade" : "Upgrade", to],
          ["Replaced", from],
        ];
  },
  // What is resolved here is not done.
  downloading: (_path, brings) => [
    ...["--setopt=install_weak_deps=0", "install", "--downloadonly", "--allowerasing", "--"],
    ...brings,
  ],
  replaying: (path) => ["replay", dirname(path)],
  async returning(dnf, left, signal) {
    // Packages of which several versions may be there, as of kernels.
    const words = ["repoquery", withoutRepositories, withoutHolds, "--installed", "--installonly"];
    const beside = new Set((await dnf.ask([...words, dnf.formatted("%{name}")], signal)).split("\n"));
    const { packages } = await dnf.database(signal);
    const actions = actionsForFiles(left, packages, ({ name }) => beside.has(name));
    return { text: storedTransaction(dialect5, actions), words: (path) => ["--cacheonly", "replay", dirname(path)] };
  },
  finish,
  restoreReasons,
};
