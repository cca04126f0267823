import type { HostFiles } from "#domain/ports/host-files.ts";
import { errnoCode, isNotFound, orUndefined } from "#kernel/errors.ts";
import { type BuiltInCheck, type CheckSettings, skip, thresholdsFor } from "../check.ts";
import { combineFindings, createGrader, type Finding, type Grader } from "../grading.ts";

/** Shares of the time in percent. */
interface Stall {
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

interface ResourcePressure {
  readonly resource: "cpu" | "memory" | "io";
  /** When at least one task waited. */
  readonly some: Stall;
  /** When every task that was not idle waited; null where the kernel does not say. */
  readonly full: Stall | null;
}

/** Kernels booted with `psi=0` have the files and answer with an error. */
const isWithout = (error: unknown): boolean => isNotFound(error) || errnoCode(error) === "EOPNOTSUPP";

function parseStall(text: string, kind: "some" | "full"): Stall | null {
  const pattern = new RegExp(`^${kind} avg10=([\\d.]+) avg60=([\\d.]+) avg300=([\\d.]+)`, "m");
  const [, avg10, avg60, avg300] = pattern.exec(text) ?? [];
  return avg10 === undefined ? null : { avg10: Number(avg10), avg60: Number(avg60), avg300: Number(avg300) };
}

/** /proc/pressure, in the kernel's Documentation/accounting/psi.rst. Undefined without it in the kernel. */
export async function pressureIn(files: Pick<HostFiles, "text">): Promise<readonly ResourcePressure[] | undefined> {
  const read = async (resource: ResourcePressure["resource"]): Promise<readonly ResourcePressure[]> => {
    const text = (await orUndefined(files.text(`/proc/pressure/${resource}`), isWithout)) ?? "";
    const some = parseStall(text, "some");
    return some === null ? [] : [{ resource, some, full: parseStall(text, "full") }];
  };
  const found = (await Promise.all((["cpu", "memory", "io"] as const).map(read))).flat();
  return found.length === 0 ? undefined : found;
}

/** A machine with much to do has tasks that wait for a processor or a disk; one that waits for memory is short of it. */
const limits = {
  cpu: { kind: "some", warn: 90, fail: Number.POSITIVE_INFINITY, waited: "some task waited for a processor" },
  memory: { kind: "full", warn: 10, fail: 30, waited: "all work waited for memory" },
  io: { kind: "full", warn: 60, fail: 90, waited: "all work waited for disks" },
} as const;

function judge({ resource, some, full }: ResourcePressure, settings: CheckSettings, { grade }: Grader): Finding {
  const { kind, waited, ...own } = limits[resource];
  const { avg60, avg300 } = (kind === "full" ? full : some) ?? { avg60: 0, avg300: 0 };
  // Both, so that a burst does not count, and what is over does not count for minutes.
  const percent = Math.min(avg60, avg300);
  return {
    status: grade(percent, thresholdsFor(own, settings), resource),
    problem: `${waited} ${percent} % of the time`,
  };
}

export const pressureCheck = (ports: { hostFiles: Pick<HostFiles, "text"> }): BuiltInCheck => ({
  id: "pressure",
  name: "Pressure on processors, memory and disks",
  category: "system",
  severity: "medium",
  about:
    "How much of the time work stands still because processors, memory or disks are short, over a minute and over " +
    "five minutes, of which the lower counts. Memory: by default 10 % in which everything waited warns, 30 % " +
    "fails. Disks: 60 and 90 %. Processors: 90 % in which some task waited warns. `warn` and `fail` of the " +
    "settings hold for all three; `ignore` takes `cpu`, `memory` and `io`.",
  meaning: "Tasks are stalled for much of the time because processors, memory or disks are overloaded.",
  remedy: "See what uses the named resource (top, iotop), and limit it or give the host more.",
  async run(settings) {
    const all = await pressureIn(ports.hostFiles);
    if (all === undefined) return skip("The kernel does not measure pressure (psi=1 on its command line)");
    const resources = all.filter(({ resource }) => !settings.ignore.includes(resource));
    const figures = resources.flatMap(({ resource, some, full }) => [
      [`${resource}_some_avg60_percent`, some.avg60],
      [`${resource}_some_avg300_percent`, some.avg300],
      ...(full === null
        ? []
        : [
            [`${resource}_full_avg60_percent`, full.avg60],
            [`${resource}_full_avg300_percent`, full.avg300],
          ]),
    ]);
    const thresholds = resources.flatMap(({ resource, full }) => {
      const { kind, warn, fail } = limits[resource];
      if (kind === "full" && full === null) return [];
      return [60, 300].map(
        (seconds) => [`${resource}_${kind}_avg${seconds}_percent`, thresholdsFor({ warn, fail }, settings)] as const,
      );
    });
    const grader = createGrader(settings);
    const { message, ...outcome } = combineFindings(
      resources.map((each) => judge(each, settings, grader)),
      "Little work waits for processors, memory or disks",
      Object.fromEntries(figures),
    );
    return grader.finish({
      ...outcome,
      message: outcome.status === "pass" ? message : `In the last minutes ${message}`,
      thresholds: Object.fromEntries(thresholds),
    });
  },
});
