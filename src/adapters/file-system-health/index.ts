import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CommandFailed } from "#adapters/exec/command.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { FileSystemHealth, FileSystemRecord, ZfsPool } from "#domain/ports/storage.ts";
import { errorMessage, isDeviceGone, isNotFound, isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { parseZpoolStatus, parseZpoolText } from "./zpool.ts";

const clean: FileSystemRecord = { errors: {}, lastErrorAt: null, missingDevices: 0, scrub: null };
const unknown: FileSystemRecord = { errors: null, lastErrorAt: null, missingDevices: null, scrub: undefined };

type Subject = Parameters<FileSystemHealth["of"]>[0];

/** `write_errs 0` lines; those above 0. */
function parseErrorStats(text: string): readonly (readonly [kind: string, count: number])[] {
  return [...text.matchAll(/^(\w+) (\d+)$/gm)].flatMap(([, kind = "", count]) =>
    Number(count) === 0 ? [] : [[kind, Number(count)] as const],
  );
}

/** /var/lib/btrfs/scrub.status.UUID, as btrfs-progs write it: a line for each device, of which all have to end, and the last counts. */
function parseScrubStatus(text: string): FileSystemRecord["scrub"] {
  const devices = text.split("\n").flatMap((line) => {
    const of = (name: string): number => Number(new RegExp(`\\|${name}:(\\d+)`).exec(line)?.[1] ?? 0);
    if (of("t_start") === 0) return [];
    const endedAt = (of("t_start") + of("duration")) * 1000;
    return { endedAt, isFinished: of("finished") === 1, unrepaired: of("uncorrectable_errors") };
  });
  if (devices.length === 0 || devices.some(({ isFinished }) => !isFinished)) return null;
  return {
    endedAt: Math.max(...devices.map(({ endedAt }) => endedAt)),
    unrepaired: devices.reduce((sum, { unrepaired }) => sum + unrepaired, 0),
  };
}

const list = async (path: string): Promise<readonly string[]> => (await orUndefined(readdir(path))) ?? [];

function createRecords({ sysDir, scrubDir }: { readonly sysDir: string; readonly scrubDir: string }) {
  const attribute = async (path: string): Promise<string> =>
    (await orUndefined(readFile(path, "latin1"), isDeviceGone)) ?? "";

  /** The kernel's name of a device. Its own list has it without `/dev`, which a container lacks, and where the source is `/dev/root`. */
  const nameOf = async ({ number, device }: Subject): Promise<string> => {
    const listed = await orUndefined(realpath(join(sysDir, "dev/block", number)));
    return basename(listed ?? (await orUndefined(realpath(device))) ?? device);
  };

  /** What is mounted holds the number of its device, which the kernel lists until the device is gone. */
  const isGone = async ({ number, type }: Subject): Promise<boolean> => {
    // On none or on several, or on flash memory without a block device.
    if (number.startsWith("0:") || type === "jffs2") return false;
    const listed = await list(join(sysDir, "dev/block"));
    return listed.length > 0 && !listed.includes(number);
  };

  const ext4 = async (name: string): Promise<FileSystemRecord> => {
    const dir = join(sysDir, "fs/ext4", name);
    const count = await attribute(join(dir, "errors_count"));
    if (count === "") return unknown;
    if (Number(count) === 0) return clean;
    const lastSeconds = Number(await attribute(join(dir, "last_error_time")));
    return {
      ...clean,
      errors: { errors: Number(count) },
      lastErrorAt: lastSeconds === 0 ? null : lastSeconds * 1000,
    };
  };

  const scrubOf = async (id: string): Promise<FileSystemRecord["scrub"]> => {
    try {
      return parseScrubStatus(await readFile(join(scrubDir, `scrub.status.${id}`), "utf8"));
    } catch (error) {
      if (isPermissionDenied(error)) return undefined;
      if (isNotFound(error)) return null;
      throw error;
    }
  };

  /** A link that somebody mounted by, as those of /dev/disk, goes with its device. */
  const isLinkGone = async (device: string): Promise<boolean> =>
    dirname(device) !== "/dev" &&
    (await list(dirname(device))).length > 0 &&
    (await orUndefined(stat(device))) === undefined;

  const btrfs = async (name: string, device: string): Promise<FileSystemRecord> => {
    for (const id of await list(join(sysDir, "fs/btrfs"))) {
      const dir = join(sysDir, "fs/btrfs", id);
      const members = await list(join(dir, "devices"));
      if (!members.includes(name)) continue;
      // The link to a device that is gone stays, and leads nowhere.
      const found = await Promise.all(members.map((each) => orUndefined(stat(join(dir, "devices", each)))));
      const present = found.filter((each) => each !== undefined).length;
      const devices = (await list(join(dir, "devinfo"))).map((each) => join(dir, "devinfo", each));
      const stats = await Promise.all(devices.map((each) => attribute(join(each, "error_stats"))));
      const missing = await Promise.all(devices.map((each) => attribute(join(each, "missing"))));
      const errors = stats.flatMap(parseErrorStats);
      // Before Linux 5.14 nothing here says whether there are any, and before 5.6 what is missing.
      const isCounted = stats.some((each) => each !== "");
      const isListed = missing.some((each) => each !== "");
      const marked = missing.filter((each) => each.trim() === "1").length;
      const absent = (isListed ? devices.length : members.length) - present;
      return {
        errors: !isCounted
          ? null
          : Object.fromEntries(
              [...Map.groupBy(errors, ([kind]) => kind)].map(([kind, all]) => [
                kind,
                all.reduce((sum, [, count]) => sum + count, 0),
              ]),
            ),
        lastErrorAt: null,
        missingDevices: isListed || absent > 0 ? Math.max(marked, absent) : null,
        scrub: await scrubOf(id),
      };
    }
    return (await isLinkGone(device)) ? { ...unknown, missingDevices: 1 } : unknown;
  };

  return async (mounted: Subject): Promise<FileSystemRecord | undefined> => {
    if (mounted.type === "btrfs") return btrfs(await nameOf(mounted), mounted.device);
    const record = mounted.type === "ext4" ? await ext4(await nameOf(mounted)) : undefined;
    return (await isGone(mounted)) ? { ...(record ?? unknown), missingDevices: 1 } : record;
  };
}

function createPools({ exec, procDir }: { readonly exec: Exec; readonly procDir: string }): FileSystemHealth["pools"] {
  const byState = async (name: string): Promise<ZfsPool> => {
    const state = await readTextOrEmpty(join(procDir, "spl/kstat/zfs", name, "state"));
    return { ...unknown, name, state: state.trim() };
  };

  const askZpool = async (signal: AbortSignal, ...options: readonly string[]): Promise<string> => {
    const ended = await orUndefined(
      exec(["zpool", "status", ...options], { signal, timeoutMs: 20_000 }),
      (error) => error instanceof CommandFailed && !signal.aborted,
    );
    // Where it cannot open one of several pools it fails, and says what it knows of the others.
    return ended?.stdout ?? "";
  };

  return async (signal) => {
    const dir = join(procDir, "spl/kstat/zfs");
    const names = (await orUndefined(readdir(dir, { withFileTypes: true }))) ?? [];
    const pools = names.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const states = await Promise.all(pools.map(byState));
    // Of a pool that waits for its devices zpool may never answer.
    if (states.length === 0 || states.some(({ state }) => state === "SUSPENDED")) return states;
    const inJson = parseZpoolStatus(await askZpool(signal, "--json", "--json-int"));
    const found = inJson.length > 0 ? inJson : parseZpoolText(await askZpool(signal, "-p"));
    return states.map((state) => found.find(({ name }) => name === state.name) ?? state);
  };
}

/** Errors on record in files of the kernel; those of ZFS by its own program, which tells more. */
export function createFileSystemHealth(ports: {
  exec: Exec;
  sysDir?: string;
  procDir?: string;
  scrubDir?: string;
}): FileSystemHealth {
  const { exec, sysDir = "/sys", procDir = "/proc", scrubDir = "/var/lib/btrfs" } = ports;
  const recordOf = createRecords({ sysDir, scrubDir });
  return {
    of: (mounted) => recordOf(mounted).catch((error: unknown) => ({ ...unknown, unreadable: errorMessage(error) })),
    pools: createPools({ exec, procDir }),
  };
}
