import type { Exec } from "#adapters/exec/index.ts";
import { snapshotsFolder } from "./layout.ts";
import { parseDefault, parseExclusive, parseList, parseNumber, parseStatus, parseSubvolumes } from "./parse.ts";

/** Snapper waits for its own locks, and btrfs for what else the disk does. */
const timeoutMs = 120_000;

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

type UserData = Readonly<Record<string, string>>;

const userdataText = (userdata: UserData): string =>
  Object.entries(userdata)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");

export function createPrograms({
  exec,
  config,
  isBusGone = false,
}: {
  readonly exec: Exec;
  readonly config: string;
  readonly isBusGone?: boolean;
}) {
  const snapper = (args: readonly string[], options: NonNullable<Parameters<Exec>[1]>): Promise<string> =>
    runProgram(exec, ["snapper", ...(isBusGone ? ["--no-dbus"] : []), `--config=${config}`, ...args], options);
  const btrfs = (args: readonly string[], signal: AbortSignal): Promise<string> =>
    runProgram(exec, ["btrfs", ...args], { signal });

  return {
    list: async (signal: AbortSignal) =>
      parseList(await snapper(["--jsonout", "--iso", "--utc", "list"], { signal }), config),
    async create(
      given: { readonly description: string; readonly userdata: UserData; readonly writableCopyOf?: number },
      signal: AbortSignal,
    ): Promise<number> {
      const { description, userdata, writableCopyOf } = given;
      const source = writableCopyOf === undefined ? [] : ["--read-write", `--from=${writableCopyOf}`];
      const told = [`--description=${description}`, `--userdata=${userdataText(userdata)}`, "--cleanup-algorithm="];
      return parseNumber(await snapper(["create", "--type=single", "--print-number", ...told, ...source], { signal }));
    },
    async remove(number: number, signal: AbortSignal) {
      await snapper(["delete", String(number)], { signal });
    },
    status: async (number: number, signal: AbortSignal) =>
      parseStatus(
        await snapper(["status", `${number}..0`], { signal, timeoutMs: 10 * 60_000, maxOutputBytes: 64 * 1024 * 1024 }),
      ),
    subvolumes: async (which: "all" | "read-only", signal: AbortSignal) =>
      parseSubvolumes(
        await btrfs(["subvolume", "list", ...(which === "read-only" ? ["-r"] : []), "--", snapshotsFolder], signal),
      ),
    belowRoot: async (signal: AbortSignal) =>
      parseSubvolumes(await btrfs(["subvolume", "list", "-o", "--", "/"], signal)),
    exclusiveBytes: async (path: string, signal: AbortSignal) =>
      parseExclusive(await btrfs(["filesystem", "du", "--summarize", "--raw", "--", path], signal)),
    defaultId: async (signal: AbortSignal) => parseDefault(await btrfs(["subvolume", "get-default", "/"], signal)),
    async setDefault(path: string, signal: AbortSignal) {
      // What the copy holds has to be on disk before it is what boots.
      await btrfs(["filesystem", "sync", path], signal);
      await btrfs(["subvolume", "set-default", path], signal);
      await btrfs(["filesystem", "sync", path], signal);
    },
    async snapshotRoot(path: string, signal: AbortSignal) {
      await btrfs(["subvolume", "snapshot", "-r", "--", "/", path], signal);
    },
    async deleteSubvolume(path: string, signal: AbortSignal) {
      await btrfs(["subvolume", "delete", "--", path], signal);
    },
    async copyFolder(from: string, to: string, signal: AbortSignal) {
      const how = ["--archive", "--reflink=auto", "--no-target-directory"];
      await runProgram(exec, ["cp", ...how, "--", from, to], { signal });
    },
    async allowRemoval(folder: string, signal: AbortSignal) {
      await runProgram(exec, ["chattr", "-R", "-f", "-a", folder], { signal });
    },
  };
}

export type Programs = ReturnType<typeof createPrograms>;
