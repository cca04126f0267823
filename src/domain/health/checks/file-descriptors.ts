import type { HostFiles } from "#domain/ports/host-files.ts";
import { isProcessOutOfReach, orUndefined } from "#kernel/errors.ts";
import { type BuiltInCheck, createIgnore, thresholdsFor, toPercent } from "../check.ts";
import { combineFindings, createGrader } from "../grading.ts";

const mostListed = 20;
/** Below so many files the limit of a process is not even read. */
const fewFiles = 50;

type Files = Pick<HostFiles, "text" | "names" | "stat">;

/** A process and the files that it has open. */
interface FilesOfProcess {
  readonly pid: number;
  readonly name: string;
  readonly open: number;
  /** How many it may have open: the soft limit, RLIMIT_NOFILE. */
  readonly limit: number;
}

/** `/proc/sys/fs/file-nr`: allocated, unused, maximum. */
function parseFileHandles(text: string): { readonly used: number; readonly maximum: number } {
  const [allocated = 0, free = 0, maximum = 0] = text.trim().split(/\s+/).map(Number);
  return { used: allocated - free, maximum };
}

const parseLimit = (limits: string): number => Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 0);

/** Those with 50 files or more, nearest to their limits first; without those that may not be inspected. */
async function busiestIn(files: Files): Promise<readonly FilesOfProcess[]> {
  const ofProcess = <T>(read: Promise<T>): Promise<T | undefined> => orUndefined(read, isProcessOutOfReach);
  const sizeOf = async (path: string): Promise<number | undefined> => (await ofProcess(files.stat(path)))?.size;
  const countIn = async (path: string): Promise<number | undefined> => (await ofProcess(files.names(path)))?.length;
  // Since Linux 6.2 the size of the directory is the number of files, which every user may know.
  const openIn = ((await sizeOf("/proc/self/fd")) ?? 0) > 0 ? sizeOf : countIn;

  const use = async (pid: string): Promise<FilesOfProcess | undefined> => {
    const open = (await openIn(`/proc/${pid}/fd`)) ?? 0;
    if (open < fewFiles) return undefined;
    const limit = parseLimit((await ofProcess(files.text(`/proc/${pid}/limits`))) ?? "");
    const name = (await ofProcess(files.text(`/proc/${pid}/comm`)))?.trim();
    return name === undefined || limit === 0 ? undefined : { pid: Number(pid), name, open, limit };
  };

  const pids = (await files.names("/proc")).filter((name) => /^\d+$/.test(name));
  const found = (await Promise.all(pids.map(use))).filter((each) => each !== undefined);
  return found.sort((a, b) => b.open / b.limit - a.open / a.limit).slice(0, mostListed);
}

const limits = { warn: 70, fail: 90 };

export const fileDescriptorsCheck = ({ hostFiles }: { hostFiles: Files }): BuiltInCheck => ({
  id: "file_descriptors",
  name: "File descriptors",
  category: "processes",
  severity: "high",
  thresholds: limits,
  about:
    "Processes by the files that they have open, compared with their own limits, and those of the whole system, " +
    "compared with fs.file-max where that is finite. `ignore` takes names of processes, and patterns.",
  meaning: "A process, or the system, is near its limit of open files: opening another file or connection will fail.",
  remedy: "Look for a leak (ls /proc/PID/fd); if the number is expected, raise LimitNOFILE= of the unit.",
  async run(settings) {
    const thresholds = thresholdsFor(limits, settings);
    const grader = createGrader(settings);
    const { used, maximum } = parseFileHandles(await hostFiles.text("/proc/sys/fs/file-nr"));
    const isIgnored = createIgnore(settings.ignore);
    const processes = (await busiestIn(hostFiles)).filter(({ name }) => !isIgnored(name));
    const percentUsed = toPercent(used, maximum);
    const system = {
      status: grader.grade(percentUsed, thresholds),
      problem: `${percentUsed} % of the file handles of the system are open: ${used} of ${maximum}`,
    };
    const findings = processes.map(({ pid, name, open, limit }) => {
      const percent = toPercent(open, limit);
      const problem = `${name} (${pid}) has ${percent} % of its files open: ${open} of ${limit} (LimitNOFILE=)`;
      return {
        pid,
        name,
        open,
        limit,
        percent,
        status: grader.grade(percent, thresholds, `${name} (${pid})`),
        problem,
      };
    });
    const outcome = combineFindings([system, ...findings], "No process is near its limit of open files", {
      percent_used: percentUsed,
      used,
      // systemd sets it to the greatest number that there is, which means none.
      maximum: Number.isSafeInteger(maximum) ? maximum : null,
      processes: findings
        .filter(({ status }) => status !== "pass")
        .map(({ pid, name, open, limit, percent }) => ({ pid, name, open, limit, percent_used: percent })),
    });
    return grader.finish({ ...outcome, thresholds: { percent_used: thresholds } });
  },
});
