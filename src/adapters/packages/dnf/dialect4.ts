import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageVersion } from "#domain/ports/packages.ts";
import { createSlots } from "#kernel/async.ts";
import { orElse, orUndefined } from "#kernel/errors.ts";
import { askWhole } from "../common/asking.ts";
import { createPidLocks } from "../common/locks.ts";
import type { Missing } from "../common/package-files.ts";
import type { Argv } from "../common/ports.ts";
import { leftovers } from "../common/rpm/findings.ts";
import { createPattern, formsOf, nameAndArchitecture, nevraOf } from "../common/rpm/names.ts";
import {
  asksReboot,
  hasTransactions,
  isUnfinished,
  parseAdvisories,
  parseCheck,
  parseCheckUpdate,
  parseExcludes,
  parseVersionLocks,
  unfinishedIn,
} from "./answers4.ts";
import type { Dialect, Dnf, DnfPlaces, InstalledRpm } from "./dialect.ts";
import { createHistory, readReasons } from "./history4.ts";
import { failureReason, parseLockConflict, parsePlan, parseProgress, scriptFailures } from "./output4.ts";
import { findingsOf } from "./repairs.ts";
import { replay } from "./replay.ts";

function placesIn(root = "/"): DnfPlaces {
  const isTree = root !== "/";
  const below = (path: string): string => join(root, path);
  // It names the process that changes packages, and is left behind when that one is killed.
  const transactionLock = below("var/lib/dnf/rpmdb_lock.pid");
  return {
    dnf: ["/usr/bin/dnf", ...(isTree ? [`--installroot=${root}`] : [])],
    rpm: ["/usr/bin/rpm", ...(isTree ? ["--root", root] : [])],
    databases: [below("var/lib/rpm"), below("usr/lib/sysimage/rpm")],
    history: below("var/lib/dnf/history.sqlite"),
    reasons: [],
    lists: below("var/cache/dnf"),
    transactionLock,
    changeLocks: [transactionLock],
    listsLocks: [below("var/cache/dnf/metadata_lock.pid"), below("var/cache/dnf/download_lock.pid")],
    mainSettings: below("etc/dnf/dnf.conf"),
    settings: [below("etc/dnf/dnf.conf"), below("etc/yum.repos.d"), "/etc/dnf/plugins"],
    automatic: [],
    protectedDirectories: [below("etc/dnf/protected.d"), below("etc/yum/protected.d")],
    users: below("etc/passwd"),
  };
}

/** Of the plugin, where it is there. Plugins are those of the host, for a tree as well. */
const versionLocks = "/etc/dnf/plugins/versionlock.list";
const versionLockSettings = "/etc/dnf/plugins/versionlock.conf";

const programs = ["dnf", "dnf-3", "dnf-automatic", "yum", "microdnf", "packagekitd"];
/** Questions about what is installed: no list is needed. */
const withoutRepositories = "--disablerepo=*";
const withExcluded = "--disableexcludes=all";
const withoutHolds = ["--disableplugin=versionlock", withExcluded] as const;

const onlyAsking = ["--cacheonly", "--quiet", "--setopt=exit_on_lock=1", "--setopt=logfilelevel=0"] as const;
/** The exit code of a dnf that did not get a lock. */
const lockedCode = 200;
const longestWaitMs = 60_000;
const betweenLooksMs = 500;

/** Also a question takes the lock of the lists briefly, and fails where another one has it. */
const createRun: Dialect["createRun"] = ({ exec, clock }, { dnf }) => {
  const inTurn = createSlots(1);
  return (words, signal, options = {}) =>
    inTurn(async () => {
      const startedAtMs = clock.monotonicMs();
      for (;;) {
        const result = await askWhole({ exec, manager: "dnf" }, [...dnf, ...onlyAsking, ...words], signal, options);
        const isOver = clock.monotonicMs() - startedAtMs >= longestWaitMs;
        if (result.exitCode !== lockedCode || isOver) return result;
        await clock.sleep(betweenLooksMs, signal);
      }
    }, signal);
};

/** Dnf knows no reason for whom it does not show its history, which is everybody but root. */
function withReasons(packages: readonly InstalledRpm[], { history }: DnfPlaces): readonly InstalledRpm[] {
  if (packages.every(({ reason }) => reason !== "unknown")) return packages;
  // Where it cannot be read here either, they stay unknown, as to dnf itself.
  const reasons = orElse(() => readReasons(history), new Map<string, string>());
  return packages.map((each) =>
    each.reason === "unknown" ? { ...each, reason: reasons.get(nameAndArchitecture(each)) ?? each.reason } : each,
  );
}

/** By a name dnf would also delete what excludes versions of the package. Patterns for several packages are left. */
export function locksOf(text: string, packages: readonly PackageVersion[]): readonly string[] {
  const forms = packages.flatMap(formsOf);
  return parseVersionLocks(text).filter(
    (entry) => !/[*?[]/.test(entry.replace(/\.\*$/, "")) && forms.some(createPattern(entry)),
  );
}

const shellWord = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`;

export const shellLines = ({ install, remove }: Missing): string =>
  [
    ...(install.length > 0 ? [`install ${install.map(({ path }) => shellWord(path)).join(" ")}`] : []),
    ...(remove.length > 0 ? [`remove ${remove.map((each) => shellWord(nevraOf(each))).join(" ")}`] : []),
    "run",
    "",
  ].join("\n");

/** What replaces others is in the transaction that is stored, and nothing else is to be replaced. */
const obsoletes = (removes: boolean): string => `--setopt=obsoletes=${removes ? 1 : 0}`;

async function finish(dnf: Dnf, signal: AbortSignal): Promise<void> {
  const { isInterrupted } = await findingsOf(dnf, signal);
  if (isInterrupted) {
    const description = "Steward finishes a transaction that was interrupted (dnf history redo last)";
    const argv: Argv = dnf.changingArgv("history", "redo", "last");
    await dnf.transact({ unit: "steward-dnf-redo", description, argv, locks: dnf.places.changeLocks }, signal);
  }
  const changes = leftovers(await findingsOf(dnf, signal));
  if (changes.length > 0) await replay(dnf, { unit: "steward-dnf-duplicates", changes }, signal);
}

export const dialect4: Dialect = {
  name: "dnf",
  probe: ["/usr/bin/rpm", "--query", "rpm"],
  commands: () => ({
    finisher: "dnf",
    finish: "dnf history redo last",
    installMissing: "dnf install",
    refreshLists: "dnf makecache",
    hold: "dnf versionlock add",
    unhold: "dnf versionlock delete, or its line in excludepkgs,",
  }),
  // It shows nobody else what it would do, whatever the answer to its question is.
  isPlannedByRoot: true,
  places: placesIn,
  locks: () => createPidLocks(programs),
  createRun,

  withoutRepositories,
  withExcluded,
  withoutHolds,
  // No wait for locks, and what is not available is an error.
  changing: ["--assumeyes", "--setopt=exit_on_lock=1", "--setopt=strict=1"],
  // With --quiet dnf would not print what it would do.
  planning: ["--assumeno", "--verbose"],
  recordEnd: "",

  output: { failureReason, parseLockConflict },
  scriptFailures,
  // Which names it does not know, and which it leaves out, it prints among the rest.
  toldIn: ({ stdout, stderr }) => (/^Error: Unable to find a match: /m.test(stderr) ? `${stdout}\n${stderr}` : stderr),
  parseStep: parseProgress,
  parsePlan,
  // It cannot be done as it is, or something else depends on it by now.
  isRefusal: (reason) => /problems occurred while (?:replaying|running)|^Problem(?: \d+)?: /.test(reason),

  automatic: new Set(["dependency", "weak-dependency", "clean"]),
  withReasons,
  createHolds:
    ({ places: { mainSettings } }) =>
    async () => {
      const read = async (path: string): Promise<string> => (await orUndefined(readFile(path, "utf8"))) ?? "";
      return [...parseVersionLocks(await read(versionLocks)), ...parseExcludes(await read(mainSettings))];
    },
  updates: async ({ ask }, signal) => parseCheckUpdate(await ask(["check-update"], signal)),
  // Those that are held have holes as well.
  advisories: async ({ ask }, signal) =>
    parseAdvisories(await ask([...withoutHolds, "updateinfo", "list", "--security", "--updates"], signal)),
  history: ({ places }) => createHistory(places),
  // Where its plugin is there, dnf knows by what was installed since the start.
  asksReboot: async ({ tryAsking }, signal) =>
    asksReboot(await tryAsking([withoutRepositories, "needs-restarting", "--reboothint"], signal)),
  updaters: () => Promise.resolve(["dnf-automatic.timer", "dnf-automatic-install.timer"]),
  async unfinished({ ask }, signal) {
    if (!hasTransactions(await ask([withoutRepositories, "history", "list"], signal))) return undefined;
    const last = await ask([withoutRepositories, "history", "info", "last"], signal);
    return isUnfinished(last) ? unfinishedIn(last) : undefined;
  },
  checking: [withExcluded, "check"],
  parseCheck,

  refreshing: ["makecache", "--refresh"],
  marking: (isManual) => ["mark", isManual ? "install" : "remove"],
  holdsLack: () =>
    existsSync(versionLockSettings)
      ? undefined
      : "dnf has no plugin for that (the package python3-dnf-plugin-versionlock brings it)",
  async lockWords({ database }, names, signal) {
    const { packages } = await database(signal);
    const held = packages.filter(({ name }) => names.includes(name));
    return locksOf(await readTextOrEmpty(versionLocks), held);
  },

  storedVersion: "0.0",
  reasons: { user: "user", dependency: "dependency" },
  actionsOf({ from, to }) {
    if (to === null) return from === null ? [] : [["Removed", from]];
    return from === null
      ? [["Install", to]]
      : [
          ["Upgrade", to],
          ["Upgraded", from],
        ];
  },
  downloading: (path, _brings, removes) => ["--downloadonly", obsoletes(removes), "history", "replay", path],
  replaying: (path, removes) => [obsoletes(removes), "history", "replay", path],
  returning: (_, left) => Promise.resolve({ text: shellLines(left), words: (path) => ["shell", path] }),
  finish,
  restoreReasons: () => Promise.resolve(),
};
