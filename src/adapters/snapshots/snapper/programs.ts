import type { Exec } from "#adapters/exec/index.ts";
import {
  parseDefault,
  parseExclusive,
  parseList,
  parseNumber,
  parseStatus,
  parseSubvolumes,
  type SnapperEntry,
  type StatusEntry,
  type Subvolume,
} from "./parse.ts";

/** Snapper waits for its own locks, and btrfs for what else the disk does. */
const timeoutMs = 120_000;
const compareTimeoutMs = 10 * 60_000;
const maxStatusBytes = 64 * 1024 * 1024;

export async function runProgram(
  exec: Exec,
  argv: readonly [program: string, ...args: string[]],
  options: NonNullable<Parameters<Exec>[1]>,
): Promise<string> {
  const { exitCode, stdout, stderr, truncated } = await exec(argv, { timeoutMs, ...options });
  if (exitCode !== 0) throw new Error(`${argv.slice(0, 3).join(" ")}: ${stderr.trim() || `exit code ${exitCode}`}`);
  if (truncated) throw new Error(`${argv[0]} printed more than can be read`);
  return stdout;
}

export interface Programs {
  readonly list: (signal: AbortSignal) => Promise<readonly SnapperEntry[]>;
  readonly create: (
    given: {
      readonly description: string;
      readonly userdata: Readonly<Record<string, string>>;
      readonly writableCopyOf?: number;
    },
    signal: AbortSignal,
  ) => Promise<number>;
  readonly remove: (number: number, signal: AbortSignal) => Promise<void>;
  readonly status: (number: number, signal: AbortSignal) => Promise<readonly StatusEntry[]>;
  readonly subvolumes: (which: "all" | "read-only", signal: AbortSignal) => Promise<readonly Subvolume[]>;
  readonly belowRoot: (signal: AbortSignal) => Promise<readonly Subvolume[]>;
  readonly exclusiveBytes: (path: string, signal: AbortSignal) => Promise<number>;
  readonly defaultId: (signal: AbortSignal) => Promise<number>;
  readonly setDefault: (path: string, signal: AbortSignal) => Promise<void>;
  readonly snapshotRoot: (path: string, signal: AbortSignal) => Promise<void>;
  readonly deleteSubvolume: (path: string, signal: AbortSignal) => Promise<void>;
  readonly copyFolder: (from: string, to: string, signal: AbortSignal) => Promise<void>;
  readonly allowRemoval: (folder: string, signal: AbortSignal) => Promise<void>;
}

const userdataText = (userdata: Readonly<Record<string, string>>): string =>
  Object.entries(userdata)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");

export function createPrograms({
  exec,
  config,
  snapshots,
  isBusGone = false,
}: {
  readonly exec: Exec;
  readonly config: string;
  readonly snapshots: string;
  readonly isBusGone?: boolean;
}): Programs {
  const snapper = (args: readonly string[], options: NonNullable<Parameters<Exec>[1]>): Promise<string> =>
    runProgram(exec, ["snapper", ...(isBusGone ? ["--no-dbus"] : []), `--config=${config}`, ...args], options);
  const btrfs = (args: readonly string[], signal: AbortSignal): Promise<string> =>
    runProgram(exec, ["btrfs", ...args], { signal });

  return {
    list: async (signal) => parseList(await snapper(["--jsonout", "--iso", "--utc", "list"], { signal }), config),
    async create({ description, userdata, writableCopyOf }, signal) {
      const source = writableCopyOf === undefined ? [] : ["--read-write", `--from=${writableCopyOf}`];
      const told = [`--description=${description}`, `--userdata=${userdataText(userdata)}`, "--cleanup-algorithm="];
      return parseNumber(await snapper(["create", "--type=single", "--print-number", ...told, ...source], { signal }));
    },
    async remove(number, signal) {
      await snapper(["delete", String(number)], { signal });
    },
    status: async (number, signal) =>
      parseStatus(
        await snapper(["status", `${number}..0`], {
          signal,
          timeoutMs: compareTimeoutMs,
          maxOutputBytes: maxStatusBytes,
        }),
      ),
    subvolumes: async (which, signal) =>
      parseSubvolumes(
        await btrfs(["subvolume", "list", ...(which === "read-only" ? ["-r"] : []), "--", snapshots], signal),
      ),
    belowRoot: async (signal) => parseSubvolumes(await btrfs(["subvolume", "list", "-o", "--", "/"], signal)),
    exclusiveBytes: async (path, signal) =>
      parseExclusive(await btrfs(["filesystem", "du", "--summarize", "--raw", "--", path], signal)),
    defaultId: async (signal) => parseDefault(await btrfs(["subvolume", "get-default", "/"], signal)),
    async setDefault(path, signal) {
      // What the copy holds has to be on disk before it is what boots.
      await btrfs(["filesystem", "sync", path], signal);
      await btrfs(["subvolume", "set-default", path], signal);
      await btrfs(["filesystem", "sync", path], signal);
    },
    async snapshotRoot(path, signal) {
      await btrfs(["subvolume", "snapshot", "-r", "--", "/", path], signal);
    },
    async deleteSubvolume(path, signal) {
      await btrfs(["subvolume", "delete", "--", path], signal);
    },
    async copyFolder(from, to, signal) {
      await runProgram(exec, ["cp", "--archive", "--reflink=auto", "--no-target-directory", "--", from, to], {
        signal,
      });
    },
    async allowRemoval(folder, signal) {
      await runProgram(exec, ["chattr", "-R", "-f", "-a", folder], { signal });
    },
  };
}
