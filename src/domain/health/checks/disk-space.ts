import type { FileSystems, MountedFileSystem } from "#domain/ports/storage.ts";
import { formatBytes, listNames } from "#kernel/text.ts";
import { type Check, grade, isIgnoredPath, skip, thresholdsFor, toGigabytes, toPercent } from "../check.ts";

/** As df(1) counts: blocks reserved for root are neither used nor free. */
function percentUsed({ totalBytes, freeBytes, availableBytes }: MountedFileSystem): number {
  const usedBytes = totalBytes - freeBytes;
  return toPercent(usedBytes, usedBytes + availableBytes);
}

const figuresOf = (each: MountedFileSystem) => ({
  path: each.path,
  percent_used: percentUsed(each),
  total_gb: toGigabytes(each.totalBytes),
  free_gb: toGigabytes(each.availableBytes),
});

/** Local file systems by usage. Those that are read-only on purpose are always full and left out. */
export const diskSpaceCheck = (ports: { fileSystems: Pick<FileSystems, "list"> }): Check => ({
  id: "disk_space",
  name: "Disk space",
  category: "storage",
  severity: "critical",
  guardedBy: "failure",
  fixes: ["disk_cleanup"],
  async run(settings, signal) {
    const all = await ports.fileSystems.list(signal);
    const looked = all
      .filter((each) => each.totalBytes > 0 && !(each.isReadOnly && each.isMeantReadOnly))
      .filter(({ path }) => !isIgnoredPath(path, settings.ignore))
      .sort((a, b) => percentUsed(b) - percentUsed(a));
    const [worst] = looked;
    if (worst === undefined) return skip("There is no file system to look at");

    const thresholds = thresholdsFor({ warn: 80, fail: 95 }, settings);
    const others = looked.slice(1).filter((each) => grade(percentUsed(each), thresholds) !== "pass");
    const also = others.length === 0 ? "" : `; filling up too: ${listNames(others.map(({ path }) => path))}`;
    const left = `${formatBytes(worst.availableBytes)} of ${formatBytes(worst.totalBytes)} left`;
    return {
      status: grade(percentUsed(worst), thresholds),
      message: `${worst.path} is ${percentUsed(worst)} % full: ${left}${also}`,
      details: {
        ...figuresOf(worst),
        file_systems: looked.map((each) => ({ ...figuresOf(each), status: grade(percentUsed(each), thresholds) })),
      },
    };
  },
});
