import type { ThinPool, ThinPools } from "#domain/ports/storage.ts";
import { type Check, createIgnore, skip, toGigabytes } from "../check.ts";
import { combineFindings, createGrader, type Finding, type Grader } from "../grading.ts";

const remedies: Readonly<Record<string, string>> = {
  out_of_data: "is out of space: its volumes cannot be written (lvextend)",
  metadata_read_only: "has read-only metadata: it is full or damaged (lvconvert --repair)",
  failed: "has failed (lvconvert --repair)",
};

function judge(
  { name, dataPercent, metadataPercent, health }: ThinPool,
  limits: { warn: number; fail: number },
  { grade }: Grader,
): Finding {
  if (health !== "") return { status: "fail", problem: `${name} ${remedies[health] ?? `is unhealthy: ${health}`}` };
  if (dataPercent === null || metadataPercent === null)
    return { status: "warn", problem: `${name} does not say how full it is (lvs, dmsetup status)` };
  const status = grade(Math.max(dataPercent, metadataPercent), limits, name);
  const isData = dataPercent >= metadataPercent;
  const problem = isData
    ? `${name} is ${dataPercent} % full (lvextend, or remove volumes and snapshots)`
    : `the metadata of ${name} is ${metadataPercent} % full (lvextend --poolmetadatasize)`;
  return { status, problem };
}

const none = (): ReturnType<typeof skip> => skip("This host has no thin pool of LVM");

/**
 * Thin pools of LVM by what is used of their data and of their metadata: when one of them is full, no volume of the pool can be
 * written. By default 80 % warns, 95 % fails, as does a pool that LVM says is unhealthy. `ignore` takes `group/pool`, and patterns.
 */
export const lvmThinCheck = (ports: { thinPools: ThinPools }): Check => ({
  id: "lvm_thin",
  name: "Thin pools of LVM",
  category: "storage",
  severity: "critical",
  intervalMs: 10 * 60_000,
  absent: async () => ((await ports.thinPools.arePresent()) ? undefined : none()),
  async run({ warn = 80, fail = 95, ignore, ...settings }, signal) {
    if (!(await ports.thinPools.arePresent())) return none();
    const listed = await ports.thinPools.list(signal);
    if (listed === undefined) return skip("The programs of LVM are not installed");
    const { pools: all, complaint } = listed;
    const isIgnored = createIgnore(ignore);
    const pools = all.filter(({ name }) => !isIgnored(name));
    if (all.length === 0)
      return skip("The kernel has a thin pool, and LVM lists none: its devices may be hidden from it");
    const unread: readonly Finding[] =
      complaint === "" ? [] : [{ status: "warn", problem: `not all thin pools may be listed: ${complaint}` }];
    if (pools.length === 0 && unread.length === 0) return skip("The settings ignore every thin pool");
    const grader = createGrader(settings);
    const findings = [...pools.map((pool) => judge(pool, { warn, fail }, grader)), ...unread];
    const outcome = combineFindings(findings, "All thin pools have enough free space", {
      pools: pools.map(({ name, sizeBytes, dataPercent, metadataPercent, health }) => ({
        name,
        size_gb: toGigabytes(sizeBytes),
        data_percent: dataPercent,
        metadata_percent: metadataPercent,
        health: health === "" ? "healthy" : health,
      })),
    });
    return grader.finish(outcome);
  },
});
