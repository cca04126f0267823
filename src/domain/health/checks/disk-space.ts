import type { FileSystems, MountedFileSystem } from "#domain/ports/storage.ts";
import { formatBytes, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, skip, thresholdsFor, toGigabytes, toPercent } from "../check.ts";
import { createGrader } from "../grading.ts";
import { byUsage, fillableOf, gradeMount, mountThresholds, unreadIn } from "../mounts.ts";

/** As df(1) counts: blocks reserved for root are neither used nor free. */
function usageOf(each: MountedFileSystem) {
  const { totalBytes, freeBytes, availableBytes } = each;
  const usedBytes = totalBytes - freeBytes;
  return { ...each, percentUsed: toPercent(usedBytes, usedBytes + availableBytes) };
}

const figuresOf = (each: ReturnType<typeof usageOf>) => ({
  path: each.path,
  percent_used: each.percentUsed,
  total_gb: toGigabytes(each.totalBytes),
  free_gb: toGigabytes(each.availableBytes),
});

const limits = { warn: 80, fail: 95 };

export const diskSpaceCheck = (ports: { fileSystems: Pick<FileSystems, "list"> }): BuiltInCheck => ({
  id: "disk_space",
  name: "Disk space",
  category: "storage",
  severity: "critical",
  thresholds: limits,
  about:
    "Local file systems by usage. Those that are read-only on purpose are always full and left out. `free_below` " +
    "adds limits of what is left, such as `{ warn: 10GB, fail: 2GB }`; `mounts` has thresholds of both kinds by " +
    "mount point. One that answers with an error is named (`unreadable`), and fails in `read_only_filesystems`. " +
    "`ignore` takes paths.",
  meaning: "A file system is nearly full: programs that write to it will fail.",
  remedy: "Find what grew (du -xh PATH | sort -h | tail), remove it or enlarge the file system.",
  guardedBy: "failure",
  fixes: ["disk_cleanup"],
  async run(settings, signal) {
    const own = thresholdsFor(limits, settings);
    const grader = createGrader(settings);
    const watched = fillableOf(await ports.fileSystems.list(signal), settings);
    const unread = unreadIn(watched);
    const looked = watched
      .filter((each) => "totalBytes" in each)
      .filter(({ totalBytes }) => totalBytes > 0)
      .map(usageOf)
      .map((each) => ({
        ...each,
        status: gradeMount({ ...each, free: each.availableBytes }, own, settings, grader, formatBytes),
      }))
      .sort(byUsage);
    const [worst] = looked;
    if (worst === undefined) return skip(`There is no file system to check${unread.note}`, unread.details);

    const others = looked.slice(1).filter(({ status }) => status !== "pass");
    const also = others.length === 0 ? "" : `; also filling up: ${listNames(others.map(({ path }) => path))}`;
    const left = `${formatBytes(worst.availableBytes)} of ${formatBytes(worst.totalBytes)} left`;
    const { used, free } = mountThresholds(worst.path, own, settings);
    const inGigabytes = Object.entries(free).map(([level, bytes]) => [level, toGigabytes(bytes)] as const);
    return grader.finish({
      status: worst.status,
      message: `${worst.path} is ${worst.percentUsed} % full: ${left}${also}${unread.note}`,
      details: {
        ...figuresOf(worst),
        file_systems: looked.map((each) => ({ ...figuresOf(each), status: each.status })),
        ...unread.details,
      },
      thresholds: {
        percent_used: used,
        ...(inGigabytes.length > 0 && { free_gb: Object.fromEntries(inGigabytes) }),
      },
    });
  },
});
