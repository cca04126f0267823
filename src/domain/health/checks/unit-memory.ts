import type { HostFiles } from "#domain/ports/host-files.ts";
import type { Clock } from "#kernel/clock.ts";
import { isDeviceGone, orUndefined } from "#kernel/errors.ts";
import { counted, flatKey, formatBytes } from "#kernel/text.ts";
import { type BuiltInCheck, createIgnore, skip, thresholdsFor, toPercent } from "../check.ts";
import { combineFindings, createGrader, type Finding, type Grader, passing } from "../grading.ts";

type Files = Pick<HostFiles, "text" | "names">;

/** The memory of a unit of systemd, by its control group. */
interface UnitMemory {
  readonly name: string;
  /** Without file caches and others that the kernel can free at once. */
  readonly usedBytes: number;
  /** Null without a limit of its own. */
  readonly limitBytes: number | null;
  /** Processes of it that the OOM killer has killed since it was started. */
  readonly oomKills: number;
}

const root = "/sys/fs/cgroup";
const mostUnits = 2000;
/** What the kernel can free at once when a limit is reached, in the kernel's Documentation/admin-guide/cgroup-v2.rst. */
const reclaimable = ["active_file", "inactive_file", "slab_reclaimable"];

/** Groups of services and scopes, which are below slices; what is below them is their own. */
async function groupsIn(files: Files, directory: string): Promise<readonly string[]> {
  const names = (await orUndefined(files.names(directory), isDeviceGone)) ?? [];
  const paths = names.map((name) => `${directory}/${name}`);
  const units = paths.filter((path) => /\.(service|scope)$/.test(path));
  const slices = paths.filter((path) => path.endsWith(".slice"));
  const below = await Promise.all(slices.map((slice) => groupsIn(files, slice)));
  return [...units, ...below.flat()];
}

async function memoryOf(files: Files, group: string): Promise<UnitMemory | undefined> {
  const [current, limit = "max", stat = "", events = ""] = await Promise.all(
    ["current", "max", "stat", "events"].map((name) =>
      orUndefined(files.text(`${group}/memory.${name}`), isDeviceGone),
    ),
  );
  if (current === undefined) return undefined;
  const free = reclaimable.reduce((sum, key) => sum + (flatKey(stat, key) ?? 0), 0);
  return {
    name: group.slice(group.lastIndexOf("/") + 1),
    usedBytes: Math.max(0, Number(current) - free),
    limitBytes: limit.trim() === "max" ? null : Number(limit),
    oomKills: flatKey(events, "oom_kill") ?? 0,
  };
}

/** Services and scopes that run; undefined where memory is not counted by unit (cgroup v1, or no memory controller). */
async function unitsIn(files: Files): Promise<readonly UnitMemory[] | undefined> {
  if ((await orUndefined(files.text(`${root}/cgroup.controllers`))) === undefined) return undefined;
  const found: UnitMemory[] = [];
  for (const group of (await groupsIn(files, root)).slice(0, mostUnits)) {
    const unit = await memoryOf(files, group);
    if (unit !== undefined) found.push(unit);
  }
  return found.length === 0 ? undefined : found;
}

const windowMs = 24 * 3_600_000;
const mostListed = 20;

interface Kills {
  readonly total: number;
  /** When more were seen than before. */
  readonly seenAtMs: number;
  readonly recent: number;
}

const limits = { warn: 90, fail: 97 };

export function unitMemoryCheck({
  hostFiles,
  clock,
}: {
  hostFiles: Files;
  clock: Pick<Clock, "monotonicMs">;
}): BuiltInCheck {
  let known: ReadonlyMap<string, Kills> = new Map();

  const remember = (units: readonly UnitMemory[]): void => {
    const now = clock.monotonicMs();
    const isFirst = known.size === 0;
    known = new Map(
      units.map(({ name, oomKills: total }) => {
        const {
          total: before,
          seenAtMs,
          recent,
        } = known.get(name) ?? {
          total: isFirst ? total : 0,
          seenAtMs: now,
          recent: 0,
        };
        const kept = now - seenAtMs < windowMs ? recent : 0;
        // A unit that was started again counts again.
        const more = total - (total < before ? 0 : before);
        return [name, more > 0 ? { total, seenAtMs: now, recent: kept + more } : { total, seenAtMs, recent: kept }];
      }),
    );
  };

  const judge = (
    { name, usedBytes, limitBytes }: UnitMemory,
    limits: { warn: number; fail: number },
    { grade }: Grader,
  ): Finding => {
    const percent = limitBytes === null ? 0 : toPercent(usedBytes, limitBytes);
    const status = grade(percent, limits, name);
    if (status !== "pass" && limitBytes !== null)
      return { status, problem: `${name} uses ${percent} % of its limit of ${formatBytes(limitBytes)} (MemoryMax=)` };
    const { recent = 0 } = known.get(name) ?? {};
    if (recent === 0) return passing;
    return { status: "warn", problem: `the OOM killer killed ${counted(recent, "process", "processes")} of ${name}` };
  };

  return {
    id: "unit_memory",
    name: "Memory of units",
    category: "memory",
    severity: "medium",
    thresholds: limits,
    about:
      "Units near their `MemoryMax=`, without what the kernel can free at once: by default 90 % warns, 97 % fails. " +
      "A unit of which the OOM killer has killed a process warns for a day, as far as the service was there to see " +
      "it. `ignore` takes names and patterns of units.",
    meaning: "A unit is near its memory limit, or some of its processes were killed by the OOM killer.",
    remedy: "Look for a leak, or raise MemoryMax= of the unit.",
    intervalMs: 5 * 60_000,
    async run({ ignore, ...settings }) {
      const all = await unitsIn(hostFiles);
      if (all === undefined) return skip("The kernel does not count memory by unit here (cgroup v1)");
      remember(all);
      const isIgnored = createIgnore(ignore);
      const units = all.filter(({ name }) => !isIgnored(name));
      const grader = createGrader(settings);
      const findings = units.map((unit) => ({ unit, ...judge(unit, thresholdsFor(limits, settings), grader) }));
      const troubled = findings.filter(({ status }) => status !== "pass").map(({ unit }) => unit);
      const limited = units.filter(({ limitBytes }) => limitBytes !== null).length;
      const outcome = combineFindings(findings, "No unit is short of memory", {
        units: troubled.slice(0, mostListed).map(({ name, usedBytes, limitBytes }) => ({
          name,
          used_bytes: usedBytes,
          limit_bytes: limitBytes,
          oom_kills_in_24_h: known.get(name)?.recent ?? 0,
        })),
        units_with_limit_count: limited,
      });
      return grader.finish(outcome);
    },
  };
}
