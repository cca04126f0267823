import { join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { CommandResult, Exec } from "#adapters/exec/index.ts";
import { failureReason } from "./output.ts";

export interface PacmanPlaces {
  readonly pacman: readonly [program: string, ...args: string[]];
  readonly settingsReader: readonly [program: string, ...args: string[]];
  /** Its databases: `local`, what is installed, and `sync`, the package lists. */
  readonly databases: string;
  readonly lock: string;
  /** Lists of the service's own: those of the host change only together with its packages. */
  readonly lists: string;
  readonly settings: readonly string[];
}

/** The host itself, or a tree on it that has packages of its own, with settings of its own. */
export function pacmanPlaces(root = "/"): PacmanPlaces {
  const isTree = root !== "/";
  const below = (path: string): string => join(root, path);
  const settings = ["--config", below("etc/pacman.conf")];
  const tree = [
    ...["--root", root, ...settings],
    ...["--cachedir", below("var/cache/pacman/pkg"), "--logfile", below("var/log/pacman.log")],
  ];
  return {
    pacman: ["/usr/bin/pacman", ...(isTree ? tree : [])],
    settingsReader: ["/usr/bin/pacman-conf", ...(isTree ? settings : [])],
    databases: below("var/lib/pacman"),
    lock: below("var/lib/pacman/db.lck"),
    lists: below("var/cache/steward-pacman"),
    settings: [below("etc/pacman.conf"), below("etc/pacman.d")],
  };
}

/** Asks pacman. Nothing that is asked needs its lock, the network, or leaves a trace. */
export interface Asking {
  /** Whatever the answer is; `databases` is the folder whose lists count. */
  readonly tryAsking: (databases: string, words: readonly string[], signal: AbortSignal) => Promise<CommandResult>;
  readonly ask: (databases: string, words: readonly string[], signal: AbortSignal) => Promise<string>;
  /** The values of some settings, those of files that are included too. */
  readonly settings: (names: readonly string[], signal: AbortSignal) => Promise<ReadonlyMap<string, readonly string[]>>;
}

/** What `pacman-conf` prints when it is asked for several settings: `name = value`. */
export function parseSettings(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [, name, value] = /^(\w+) = (.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) found.set(name, [...(found.get(name) ?? []), value]);
  }
  return found;
}

export function createAsking({ exec, places }: { readonly exec: Exec; readonly places: PacmanPlaces }): Asking {
  const run = async (argv: Parameters<Exec>[0], signal: AbortSignal): Promise<CommandResult> => {
    const result = await exec(argv, { signal, timeoutMs: 120_000, maxOutputBytes: 64 * 1024 * 1024 });
    if (result.truncated) throw new CommandFailed("cannot ask pacman: its answer has no end");
    return result;
  };
  const answered = ({ exitCode, stdout, stderr }: CommandResult): string => {
    if (exitCode !== 0)
      throw new CommandFailed(`cannot ask pacman: ${failureReason(`${stdout}\n${stderr}`, exitCode)}`);
    return stdout;
  };
  const tryAsking: Asking["tryAsking"] = (databases, words, signal) =>
    run([...places.pacman, "--dbpath", databases, "--noconfirm", ...words], signal);
  return {
    tryAsking,
    ask: async (databases, words, signal) => answered(await tryAsking(databases, words, signal)),
    settings: async (names, signal) =>
      parseSettings(answered(await run([...places.settingsReader, "--verbose", ...names], signal))),
  };
}
