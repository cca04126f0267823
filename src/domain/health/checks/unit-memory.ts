import type { UnitMemories, UnitMemory } from "#domain/ports/kernel.ts";
import type { Clock } from "#kernel/clock.ts";
import { counted, formatBytes } from "#kernel/text.ts";
import { type Check, createIgnore, skip, toPercent } from "../check.ts";
import { combineFindings, createGrader, type Finding, type Grader, passing } from "../grading.ts";

const windowMs = 24 * 3_600_000;
const mostListed = 20;

interface Kills {
  readonly total: number;
  /** When more were seen than before. */
  readonly seenAtMs: number;
  readonly recent: number;
}

/**
 * Units near their `MemoryMax=`, without what the kernel can free at once: by default 90 % warns, 97 % fails. A unit of which the OOM
 * killer has killed a process warns for a day, as far as the service was there to see it. `ignore` takes names and patterns of units.
 */
export function unitMemoryCheck(ports: { unitMemories: UnitMemories; clock: Pick<Clock, "monotonicMs"> }): Check {
  const { unitMemories, clock } = ports;
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
        // A unit that was started again counts anew.
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
    intervalMs: 5 * 60_000,
    async run({ warn = 90, fail = 97, ignore, ...settings }) {
      const all = await unitMemories.list();
      if (all === undefined) return skip("The kernel does not count memory by unit here (cgroup v1)");
      remember(all);
      const isIgnored = createIgnore(ignore);
      const units = all.filter(({ name }) => !isIgnored(name));
      const grader = createGrader(settings);
      const findings = units.map((unit) => ({ unit, ...judge(unit, { warn, fail }, grader) }));
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
