import type {
  FileSystemHealth,
  FileSystemRecord,
  FileSystems,
  MountedFileSystem,
  UnreadableFileSystem,
} from "#domain/ports/storage.ts";
import { type Clock, toNullableTimestamp } from "#kernel/clock.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type Check, isIgnoredPath, skip } from "../check.ts";
import { combineFindings, type Finding, passing } from "../grading.ts";

const dayMs = 86_400_000;
const noRecord: FileSystemRecord = { errors: null, lastErrorAt: null, missingDevices: null, scrub: undefined };

interface Subject extends FileSystemRecord {
  readonly name: string;
  readonly type: string;
  readonly state?: string;
}

/** None for a kind that keeps no record, as long as it can be looked at. */
function subjectOf(
  mounted: MountedFileSystem | UnreadableFileSystem,
  record: FileSystemRecord | undefined,
): readonly Subject[] {
  const { path: name, type } = mounted;
  if ("unreadable" in mounted) return [{ name, type, ...noRecord, unreadable: mounted.unreadable, ...record }];
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

/**
 * Errors that file systems keep on record: of ext4 since its last e2fsck, of the devices of btrfs and of ZFS, missing devices, pools of
 * ZFS that are not whole, and what the last scrub could not repair. XFS keeps none; its errors are in `kernel_errors`. A mounted file
 * system of any kind whose device is gone fails. What an older kernel does not say of a file system, or what cannot be read, is not known,
 * and it is named. With `warn` or `fail`, so many days without a scrub of btrfs or ZFS count as well. `ignore` takes mount points and pools.
 */
export function filesystemHealthCheck(ports: {
  fileSystems: Pick<FileSystems, "list">;
  fileSystemHealth: FileSystemHealth;
  clock: Pick<Clock, "now">;
}): Check {
  const { fileSystems, fileSystemHealth, clock } = ports;

  const subjects = async (signal: AbortSignal): Promise<readonly Subject[]> => {
    const mounted = await fileSystems.list(signal);
    const records = await Promise.all(mounted.map((each) => fileSystemHealth.of(each)));
    const pools = await fileSystemHealth.pools(signal);
    return [
      ...mounted.flatMap((each, at) => subjectOf(each, records[at])),
      ...pools.map((pool) => ({ type: "zfs", ...pool })),
    ];
  };

  const judge = (subject: Subject, limits: { readonly warn?: number; readonly fail?: number }): Finding => {
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
    const days = Math.floor((clock.now() - (scrub?.endedAt ?? 0)) / dayMs);
    if (
      type === "ext4" ||
      scrub === undefined ||
      days < Math.min(limits.warn ?? Number.POSITIVE_INFINITY, limits.fail ?? Number.POSITIVE_INFINITY)
    )
      return passing;
    const status = days >= (limits.fail ?? Number.POSITIVE_INFINITY) ? "fail" : "warn";
    const last = scrub === null ? "no scrub is on record" : `the last scrub ended ${counted(days, "day")} ago`;
    return { status, problem: `${name}: ${last}` };
  };

  return {
    id: "filesystem_health",
    name: "Errors on record of file systems",
    category: "storage",
    severity: "critical",
    intervalMs: 15 * 60_000,
    async run({ ignore, ...limits }, signal) {
      const all = await subjects(signal);
      const watched = all.filter(({ name }) => !isIgnoredPath(name, ignore));
      if (watched.length === 0) return skip("No file system here keeps a record of its errors");
      const findings = watched.map((subject) => judge(subject, limits));
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
    },
  };
}
