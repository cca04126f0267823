import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { CommandOptions, CommandResult, Exec } from "#adapters/exec/index.ts";
import { orUndefined } from "#kernel/errors.ts";
import { defined } from "#kernel/values.ts";
import { askWhole, ManagerRefuses } from "../common/asking.ts";
import { marksOf, rememberByMark } from "../common/marks.ts";
import type { Argv } from "../common/ports.ts";
import { NoLists } from "../common/rpm/offers.ts";
import { parseRepositories } from "./lists.ts";
import { failureReason } from "./output.ts";

export interface ZypperPlaces {
  readonly zypper: Argv;
  readonly rpm: Argv;
  readonly databases: readonly string[];
  readonly autoInstalled: string;
  readonly lists: string;
  /** Package files as they were downloaded, where the repository says that they are to be kept. */
  readonly packages: string;
  /** Names the process that changes packages; it is left behind when that one is killed. */
  readonly lock: string;
  readonly packageLocks: string;
  readonly settings: readonly string[];
  readonly osRelease: string;
  /** What zypper has done, and its predecessors below the same name. */
  readonly history: string;
  readonly systemCheck: string;
}

export function zypperPlaces(root = "/"): ZypperPlaces {
  const tree = root === "/" ? [] : ["--root", root];
  const below = (path: string): string => join(root, path);
  return {
    zypper: ["/usr/bin/zypper", ...tree],
    rpm: ["/usr/bin/rpm", ...tree],
    databases: [below("usr/lib/sysimage/rpm"), below("var/lib/rpm")],
    autoInstalled: below("var/lib/zypp/AutoInstalled"),
    lists: below("var/cache/zypp/raw"),
    packages: below("var/cache/zypp/packages"),
    lock: below("run/zypp.pid"),
    packageLocks: below("etc/zypp/locks"),
    settings: ["", "repos.d", "services.d", "vendors.d", "multiversion.d"].map((name) => below(join("etc/zypp", name))),
    osRelease: below("etc/os-release"),
    history: below("var/log/zypp/history"),
    systemCheck: below("etc/zypp/systemCheck"),
  };
}

/** Questions take no lock, and what is asked does not go into the log of what was done. */
const reading = ["ZYPP_READONLY_HACK=1", "ZYPP_LOGFILE=/dev/null", "LC_ALL=C.UTF-8"] as const;

const quietWords = ["--non-interactive", "--no-refresh"] as const;
export const commonArguments = [...quietWords, "--xmlout"] as const;

export const onlyInstalled = ["--disable-repositories"] as const;

/** No repositories at all; with disabled ones, package files would not count either. It removes lists of those it cannot see. */
export const onlyFiles = (directory: string): readonly string[] => [
  ...["--reposd-dir", join(directory, "no-repositories")],
  ...["--raw-cache-dir", join(directory, "raw"), "--solv-cache-dir", join(directory, "solv")],
];

/** Files of which one is in the directory of each list, by kind of repository; their time is when zypper last asked for it. */
const listFiles = ["repodata/repomd.xml", "content", "cookie"] as const;

/** Zypper's own way from the name of a repository to that of its directory. */
const listDirectory = (alias: string): string => alias.replaceAll("/", "_");

export function demandAnswer({ exitCode, stdout, stderr }: CommandResult): string {
  if (exitCode !== 0) throw new ManagerRefuses("zypper", failureReason(`${stdout}\n${stderr}`, exitCode));
  return stdout;
}

export function createAsking({ exec, places }: { readonly exec: Exec; readonly places: ZypperPlaces }) {
  const remembered = rememberByMark<readonly string[]>();

  const run = (words: readonly string[], signal: AbortSignal, timeoutMs?: number): Promise<CommandResult> => {
    const argv = ["/usr/bin/env", ...reading, ...places.zypper, ...commonArguments, ...words] as const;
    return askWhole({ exec, manager: "zypper" }, argv, signal, defined({ timeoutMs }));
  };

  const aliases = async (signal: AbortSignal): Promise<readonly string[]> =>
    remembered(await marksOf(places.settings), async () => {
      const result = await run(["repos"], signal);
      return result.exitCode === 6 ? [] : parseRepositories(demandAnswer(result));
    });

  const listAt = async (alias: string): Promise<number | undefined> => {
    const paths = listFiles.map((file) => join(places.lists, listDirectory(alias), file));
    const files = await Promise.all(paths.map((path) => orUndefined(stat(path))));
    return files.find((file) => file !== undefined)?.mtimeMs;
  };

  const listsAt = async (signal: AbortSignal): Promise<number | undefined> => {
    const times = await Promise.all((await aliases(signal)).map(listAt));
    const known = times.filter((time) => time !== undefined);
    return known.length === 0 || known.length < times.length ? undefined : Math.floor(Math.min(...known));
  };

  /** Zypper would download what is not there, even with --no-refresh. */
  const demandLists = async (signal: AbortSignal): Promise<void> => {
    if ((await listsAt(signal)) === undefined) throw new NoLists("cannot ask zypper: there are no package lists");
  };

  const tryAsking = async (words: readonly string[], signal: AbortSignal): Promise<CommandResult> => {
    await demandLists(signal);
    return run(words, signal);
  };

  return {
    tryAsking,
    ask: async (words: readonly string[], signal: AbortSignal) => demandAnswer(await tryAsking(words, signal)),
    /** Answers with a table, of which some have more than the XML has. @throws NoLists */
    askTable: async (words: readonly string[], signal: AbortSignal, options: Pick<CommandOptions, "onOutput">) => {
      await demandLists(signal);
      const argv = ["/usr/bin/env", ...reading, ...places.zypper, ...quietWords, ...words] as const;
      return demandAnswer(await askWhole({ exec, manager: "zypper" }, argv, signal, options));
    },
    /** Downloads packages into a directory. @throws NoLists */
    tryInto: async (directory: string, words: readonly string[], signal: AbortSignal): Promise<CommandResult> => {
      await demandLists(signal);
      return run(["--pkg-cache-dir", directory, ...words], signal, 10 * 60_000);
    },
    tryInstalled: (words: readonly string[], signal: AbortSignal) => run([...onlyInstalled, ...words], signal),
    /** Only about what is installed and about package files; the directory holds what is made for it. */
    tryFiles: (directory: string, words: readonly string[], signal: AbortSignal) =>
      run([...onlyFiles(directory), ...words], signal),
    listsAt,
    listsMark: async (signal: AbortSignal): Promise<string> => {
      const directories = (await aliases(signal)).map((alias) => join(places.lists, listDirectory(alias)));
      const files = directories.flatMap((directory) => listFiles.map((file) => join(directory, file)));
      return marksOf([...files, ...places.settings]);
    },
  };
}
