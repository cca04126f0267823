import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { NoLists } from "../rpm/offers.ts";
import { failureReason } from "./output.ts";

export interface DnfPlaces {
  readonly dnf: readonly [program: string, ...args: string[]];
  readonly rpm: readonly [program: string, ...args: string[]];
  readonly databases: readonly string[];
  readonly history: string;
  readonly lists: string;
  /** Names the process that changes packages; it is left behind when that one is killed. */
  readonly transactionLock: string;
  readonly listsLocks: readonly string[];
  readonly settings: readonly string[];
  readonly mainSettings: string;
  readonly versionLocks: string;
}

/** The host itself, or a tree on it that has packages of its own, with settings of its own. */
export function dnfPlaces(root = "/"): DnfPlaces {
  const isTree = root !== "/";
  const below = (path: string): string => join(root, path);
  return {
    dnf: ["/usr/bin/dnf", ...(isTree ? [`--installroot=${root}`] : [])],
    rpm: ["/usr/bin/rpm", ...(isTree ? ["--root", root] : [])],
    databases: [below("var/lib/rpm"), below("usr/lib/sysimage/rpm")],
    history: below("var/lib/dnf"),
    lists: below("var/cache/dnf"),
    transactionLock: below("var/lib/dnf/rpmdb_lock.pid"),
    listsLocks: [below("var/cache/dnf/metadata_lock.pid"), below("var/cache/dnf/download_lock.pid")],
    settings: [below("etc/dnf/dnf.conf"), below("etc/yum.repos.d"), "/etc/dnf/plugins"],
    mainSettings: below("etc/dnf/dnf.conf"),
    // Plugins are those of the host, for a tree as well.
    versionLocks: "/etc/dnf/plugins/versionlock.list",
  };
}

/**
 * Words of every question: the lists on disk are what counts, nothing is downloaded. Plugins may talk, and the history is
 * the only log of what is asked.
 */
const onlyAsking = ["--cacheonly", "--quiet", "--setopt=exit_on_lock=1", "--setopt=logfilelevel=0"] as const;
/** Questions about what is installed: no list is needed. */
export const withoutRepositories = "--disablerepo=*";

export interface Asking {
  /** @throws NoLists; CommandFailed where dnf does not answer. */
  readonly ask: (words: readonly string[], signal: AbortSignal) => Promise<string>;
  readonly tryAsking: (words: readonly string[], signal: AbortSignal) => Promise<CommandResult>;
}

export function createAsking({ exec, places }: { readonly exec: Exec; readonly places: DnfPlaces }): Asking {
  const tryAsking: Asking["tryAsking"] = async (words, signal) => {
    const options = { signal, timeoutMs: 120_000, maxOutputBytes: 64 * 1024 * 1024 };
    const result = await exec([...places.dnf, ...onlyAsking, ...words], options);
    if (result.truncated) throw new CommandFailed("cannot ask dnf: its answer has no end");
    if (/^Error: Cache-only enabled but no cache for /m.test(result.stderr))
      throw new NoLists(`cannot ask dnf: ${failureReason(result.stderr, result.exitCode)}`);
    return result;
  };
  return {
    tryAsking,
    async ask(words, signal) {
      const { exitCode, stdout, stderr } = await tryAsking(words, signal);
      // 100 says that there are updates.
      if (exitCode !== 0 && exitCode !== 100)
        throw new CommandFailed(`cannot ask dnf: ${failureReason(stderr, exitCode)}`);
      return stdout;
    },
  };
}
