import type { FileSystems } from "#domain/ports/storage.ts";
import { listNames } from "#kernel/text.ts";
import { type Check, grade, isIgnoredPath, skip, thresholdsFor, toPercent } from "../check.ts";

/** Used inodes of file systems with a fixed number of them: without a free one no file can be created. */
export const inodeUsageCheck = (ports: { fileSystems: FileSystems }): Check => ({
  id: "inode_usage",
  name: "Inode usage",
  category: "storage",
  severity: "critical",
  guardedBy: "failure",
  async run(settings, signal) {
    const all = await ports.fileSystems.list(signal);
    const looked = all
      .filter((each) => each.totalInodes > 0 && !(each.isReadOnly && each.isMeantReadOnly))
      .filter(({ path }) => !isIgnoredPath(path, settings.ignore))
      .map(({ path, totalInodes, freeInodes }) => ({
        path,
        percent_used: toPercent(totalInodes - freeInodes, totalInodes),
        total_inodes: totalInodes,
        free_inodes: freeInodes,
      }))
      .sort((a, b) => b.percent_used - a.percent_used);
    const [worst] = looked;
    if (worst === undefined) return skip("No file system here has a fixed number of inodes");

    const thresholds = thresholdsFor({ warn: 80, fail: 95 }, settings);
    const others = looked.slice(1).filter((each) => grade(each.percent_used, thresholds) !== "pass");
    const also = others.length === 0 ? "" : `; running out too: ${listNames(others.map(({ path }) => path))}`;
    return {
      status: grade(worst.percent_used, thresholds),
      message: `${worst.path} uses ${worst.percent_used} % of its inodes: ${worst.free_inodes} more files fit${also}`,
      details: { ...worst, file_systems: looked },
    };
  },
});
