import type { HostFiles, RunProgram } from "#domain/ports/host-files.ts";
import type { FileSystems, MountedFileSystem, UnreadableFileSystem } from "#domain/ports/storage.ts";
import { type Clock, toNullableTimestamp } from "#kernel/clock.ts";
import { errorMessage, isDeviceGone, isNotFound, isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, type CheckSettings, isIgnoredPath, type Outcome, skip } from "../check.ts";
import { combineFindings, type Finding, passing } from "../grading.ts";
import { type FileSystemRecord, readPools, unknownRecord, type ZfsPool } from "../zpool.ts";

const dayMs = 86_400_000;

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

type Mounted = Pick<MountedFileSystem, "number" | "device" | "type">;
type Files = Pick<HostFiles, "text" | "names" | "real" | "stat">;

const nameIn = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
const directoryOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));

const blockDevices = "/sys/dev/block";
const clean: FileSystemRecord = { errors: {}, lastErrorAt: null, missingDevices: 0, scrub: null };

function createRecords(files: Files) {
  const attribute = async (path: string): Promise<string> => (await orUndefined(files.text(path), isDeviceGone)) ?? "";
  const list = async (path: string): Promise<readonly string[]> => (await orUndefined(files.names(path))) ?? [];
  const isThere = async (path: string): Promise<boolean> => (await orUndefined(files.stat(path))) !== undefined;

  /** The kernel's name of a device. Its own list has it without `/dev`, which a container lacks, and where the source is `/dev/root`. */
  const nameOf = async ({ number, device }: Mounted): Promise<string> => {
    const listed = await orUndefined(files.real(`${blockDevices}/${number}`));
    return nameIn(listed ?? (await orUndefined(files.real(device))) ?? device);
  };

  /** What is mounted holds the number of its device, which the kernel lists until the device is gone. */
  const isGone = async ({ number, type }: Mounted): Promise<boolean> => {
    // On none or on several, or on flash memory without a block device.
    if (number.startsWith("0:") || type === "jffs2") return false;
    const listed = await list(blockDevices);
    return listed.length > 0 && !listed.includes(number);
  };

  /** A link that somebody mounted by, as those of /dev/disk, goes with its device. */
  const isLinkGone = async (device: string): Promise<boolean> =>
    directoryOf(device) !== "/dev" && (await list(directoryOf(device))).length > 0 && !(await isThere(device));

  const ext4 = async (name: string): Promise<FileSystemRecord> => {
    const directory = `/sys/fs/ext4/${name}`;
    const count = await attribute(`${directory}/errors_count`);
    if (count === "") return unknownRecord;
    if (Number(count) === 0) return clean;
    const lastSeconds = Number(await attribute(`${directory}/last_error_time`));
    return {
      ...clean,
      errors: { errors: Number(count) },
      lastErrorAt: lastSeconds === 0 ? null : lastSeconds * 1000,
    };
  };

  const scrubOf = async (id: string): Promise<FileSystemRecord["scrub"]> => {
    try {
      return parseScrubStatus(await files.text(`/var/lib/btrfs/scrub.status.${id}`));
    } catch (error) {
      if (isPermissionDenied(error)) return undefined;
      if (isNotFound(error)) return null;
      throw error;
    }
  };

  const btrfs = async (name: string, device: string): Promise<FileSystemRecord> => {
    for (const id of await list("/sys/fs/btrfs")) {
      const directory = `/sys/fs/btrfs/${id}`;
      const members = await list(`${directory}/devices`);
      if (!members.includes(name)) continue;
      // The link to a device that is gone stays, and leads nowhere.
      const found = await Promise.all(members.map((each) => isThere(`${directory}/devices/${each}`)));
      const present = found.filter(Boolean).length;
      const devices = (await list(`${directory}/devinfo`)).map((each) => `${directory}/devinfo/${each}`);
      const stats = await Promise.all(devices.map((each) => attribute(`${each}/error_stats`)));
      const missing = await Promise.all(devices.map((each) => attribute(`${each}/missing`)));
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
    return (await isLinkGone(device)) ? { ...unknownRecord, missingDevices: 1 } : unknownRecord;
  };

  const recordOf = async (mounted: Mounted): Promise<FileSystemRecord | undefined> => {
    if (mounted.type === "btrfs") return btrfs(await nameOf(mounted), mounted.device);
    const record = mounted.type === "ext4" ? await ext4(await nameOf(mounted)) : undefined;
    return (await isGone(mounted)) ? { ...(record ?? unknownRecord), missingDevices: 1 } : record;
  };

  /** Undefined for a kind that keeps no record, as long as its device is there. */
  return (mounted: Mounted) =>
    recordOf(mounted).catch((error: unknown) => ({ ...unknownRecord, unreadable: errorMessage(error) }));
}

interface Facts {
  /** Each with its record; undefined for a kind that keeps none. */
  readonly mounted: readonly (readonly [MountedFileSystem | UnreadableFileSystem, FileSystemRecord | undefined])[];
  readonly pools: readonly ZfsPool[];
}

interface Host {
  readonly fileSystems: Pick<FileSystems, "list">;
  readonly hostFiles: Files;
  readonly exec: RunProgram;
}

export async function readRecords(host: Host, signal: AbortSignal): Promise<Facts> {
  const recordOf = createRecords(host.hostFiles);
  const mounted = await host.fileSystems.list(signal);
  const records = await Promise.all(mounted.map(async (each) => [each, await recordOf(each)] as const));
  return { mounted: records, pools: await readPools(host, signal) };
}

/** A mounted file system, or a pool of ZFS. */
interface Subject extends FileSystemRecord {
  readonly name: string;
  readonly type: string;
  readonly state?: string;
}

/** None for a kind that keeps no record, as long as it can be inspected. */
function subjectOf([mounted, record]: Facts["mounted"][number]): readonly Subject[] {
  const { path: name, type } = mounted;
  if ("unreadable" in mounted) return [{ name, type, ...unknownRecord, unreadable: mounted.unreadable, ...record }];
  return record === undefined ? [] : [{ name, type, ...record }];
}

const remedies: Readonly<Record<string, string>> = {
  ext4: "unmount it and run e2fsck",
  btrfs: "btrfs scrub, then btrfs device stats -z",
  zfs: "zpool scrub, then zpool clear",
};

/** Kinds that may be on more devices than one. */
const severalDevices = new Set(["btrfs", "zfs"]);

/** Statuses of ZFS in which some data cannot be had. */
const lostStates = new Set(["FAULTED", "UNAVAIL", "SUSPENDED", "REMOVED"]);

function findingOf(subject: Subject, limits: { readonly warn?: number; readonly fail?: number }, now: number): Finding {
  const { name, type, state = "ONLINE", errors, missingDevices, scrub } = subject;
  const remedy = remedies[type] ?? "";
  if (lostStates.has(state)) return { status: "fail", problem: `${name} is ${state} (zpool status ${name})` };
  if (missingDevices !== null && missingDevices > 0)
    return {
      status: "fail",
      problem: severalDevices.has(type)
        ? `${name} lacks ${counted(missingDevices, "device")}`
        : `the device of ${name} (${type}) is gone`,
    };
  if (scrub !== null && scrub !== undefined && scrub.unrepaired > 0)
    return {
      status: "fail",
      problem: `the last scrub of ${name} could not repair ${counted(scrub.unrepaired, "error")}`,
    };
  const { data_errors: lost = 0 } = errors ?? {};
  if (lost > 0)
    return {
      status: "fail",
      problem: `${name} has ${counted(lost, "error")} of data that no copy repairs (zpool status -v ${name})`,
    };
  if (state !== "ONLINE") return { status: "warn", problem: `${name} is ${state} (zpool status ${name})` };
  const sum = Object.values(errors ?? {}).reduce((all, count) => all + count, 0);
  if (sum > 0) {
    const status = type === "ext4" ? "fail" : "warn";
    return { status, problem: `${name} (${type}) has ${counted(sum, "error")} on record (${remedy})` };
  }
  const days = Math.floor((now - (scrub?.endedAt ?? 0)) / dayMs);
  if (
    type === "ext4" ||
    scrub === undefined ||
    days < Math.min(limits.warn ?? Number.POSITIVE_INFINITY, limits.fail ?? Number.POSITIVE_INFINITY)
  )
    return passing;
  const status = days >= (limits.fail ?? Number.POSITIVE_INFINITY) ? "fail" : "warn";
  const last = scrub === null ? "no scrub is on record" : `the last scrub ended ${counted(days, "day")} ago`;
  return { status, problem: `${name}: ${last}` };
}

/** @param now epoch milliseconds. */
export function judgeRecords({ mounted, pools }: Facts, { ignore, ...limits }: CheckSettings, now: number): Outcome {
  const all: readonly Subject[] = [...mounted.flatMap(subjectOf), ...pools.map((pool) => ({ type: "zfs", ...pool }))];
  const watched = all.filter(({ name }) => !isIgnoredPath(name, ignore));
  if (watched.length === 0) return skip("No file system here keeps a record of its errors");
  const findings = watched.map((subject) => findingOf(subject, limits, now));
  const unknown = watched
    .filter(({ errors, unreadable }) => errors === null || unreadable !== undefined)
    .map(({ name }) => name);
  const healthy = "No file system has errors on record";
  const message = unknown.length === 0 ? healthy : `${healthy}; what ${listNames(unknown)} has is not known`;
  const outcome = combineFindings(findings, message, {
    file_systems: watched.map(({ name, type, state, errors, lastErrorAt, missingDevices, scrub, unreadable }) => ({
      path: name,
      type,
      ...(state !== undefined && { state }),
      errors,
      last_error_at: toNullableTimestamp(lastErrorAt),
      missing_devices: missingDevices,
      scrub_ended_at: toNullableTimestamp(scrub?.endedAt ?? null),
      scrub_unrepaired: scrub?.unrepaired ?? null,
      ...(unreadable !== undefined && { unreadable }),
    })),
  });
  const [why = "the kernel does not say"] = watched.flatMap(({ unreadable }) => unreadable ?? []);
  const saysNothing = watched.every(({ errors, state }) => errors === null && state === undefined);
  return outcome.status === "pass" && saysNothing
    ? skip(`What errors ${listNames(unknown)} has is not known: ${why}`, outcome.details)
    : outcome;
}

export const filesystemHealthCheck = (ports: Host & { clock: Pick<Clock, "now"> }): BuiltInCheck => ({
  id: "filesystem_health",
  name: "Errors on record of file systems",
  category: "storage",
  severity: "critical",
  about:
    "Errors that file systems keep on record: of ext4 since its last e2fsck, of the devices of btrfs and of ZFS, " +
    "missing devices, pools of ZFS that are not whole, and what the last scrub could not repair. XFS keeps none; " +
    "its errors are in `kernel_errors`. A mounted file system of any kind whose device is gone fails. What an " +
    "older kernel does not say of a file system, or what cannot be read, is not known, and it is named. With " +
    "`warn` or `fail`, so many days without a scrub of btrfs or ZFS count as well. `ignore` takes mount points and " +
    "pools.",
  meaning: "A file system has errors on record: data was not read or written correctly.",
  remedy: "Check backups first; then scrub or repair it (btrfs scrub, zpool status -v, e2fsck) and test the disk.",
  intervalMs: 15 * 60_000,
  run: async (settings, signal) => judgeRecords(await readRecords(ports, signal), settings, ports.clock.now()),
});
