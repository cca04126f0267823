import type { FileSystems } from "#domain/ports/storage.ts";
import { listNames } from "#kernel/text.ts";
import { type BuiltInCheck, skip, thresholdsFor, toPercent } from "../check.ts";
import { createGrader, inUnit } from "../grading.ts";
import { byUsage, fillableOf, gradeMount, mountThresholds, unreadIn } from "../mounts.ts";

const limits = { warn: 80, fail: 95 };

export const inodeUsageCheck = (ports: { fileSystems: FileSystems }): BuiltInCheck => ({
  id: "inode_usage",
  name: "Inode usage",
  category: "storage",
  severity: "critical",
  thresholds: limits,
  about:
    "Used inodes of file systems with a fixed number of them: without a free one no file can be created. " +
    "`free_below` adds limits of how many are left, `mounts` has thresholds of both kinds by mount point. One that " +
    "answers with an error is named (`unreadable`), and fails in `read_only_filesystems`. `ignore` takes paths.",
  meaning: "A file system is running out of inodes: it can hold few more files, however much space is left.",
  remedy: "Find the directory with very many small files (du --inodes -x PATH | sort -n | tail) and remove them.",
  guardedBy: "failure",
  async run(settings, signal) {
    const own = thresholdsFor(limits, settings);
    const grader = createGrader(settings);
    const watched = fillableOf(await ports.fileSystems.list(signal), settings);
    const unread = unreadIn(watched);
    const looked = watched
      .filter((each) => "totalInodes" in each)
      .filter(({ totalInodes }) => totalInodes > 0)
      .map(({ path, totalInodes, freeInodes }) => {
        const figures = { path, percentUsed: toPercent(totalInodes - freeInodes, totalInodes), free: freeInodes };
        return {
          ...figures,
          totalInodes,
          status: gradeMount(figures, own, settings, grader, inUnit("inodes")),
        };
      })
      .sort(byUsage);
    const [worst] = looked;
    if (worst === undefined)
      return skip(`No file system here has a fixed number of inodes${unread.note}`, unread.details);

    const others = looked.slice(1).filter(({ status }) => status !== "pass");
    const also = others.length === 0 ? "" : `; also running out: ${listNames(others.map(({ path }) => path))}`;
    const figures = looked.map(({ path, percentUsed, totalInodes, free }) => ({
      path,
      percent_used: percentUsed,
      total_inodes: totalInodes,
      free_inodes: free,
    }));
    const { used, free } = mountThresholds(worst.path, own, settings);
    return grader.finish({
      status: worst.status,
      message: `${worst.path} uses ${worst.percentUsed} % of its inodes: ${worst.free} are left${also}${unread.note}`,
      details: { ...figures[0], file_systems: figures, ...unread.details },
      thresholds: { percent_used: used, ...(Object.keys(free).length > 0 && { free_inodes: free }) },
    });
  },
});
