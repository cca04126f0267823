import { type HostFiles, isNotInstalled, type RunProgram } from "#domain/ports/host-files.ts";
import { isDeviceGone, orUndefined } from "#kernel/errors.ts";
import { isString, parseJsonObject, recordsIn } from "#kernel/values.ts";
import { type BuiltInCheck, createIgnore, skip, thresholdsFor, toGigabytes } from "../check.ts";
import { combineFindings, createGrader, type Finding, type Grader } from "../grading.ts";

/** A thin pool of LVM, whose volumes together may be larger than it is. */
interface ThinPool {
  /** `group/pool`. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Null where the kernel does not say. */
  readonly dataPercent: number | null;
  readonly metadataPercent: number | null;
  /** LVM's word: empty while it is healthy, else `failed`, `out_of_data`, `metadata_read_only`. */
  readonly health: string;
}

const fields = ["vg_name", "lv_name", "lv_size", "data_percent", "metadata_percent", "lv_health_status"];
/** Not with `--readonly`, with which it asks nothing of the kernel: no pool is active then, and none says how full it is. */
const argv = [
  "lvs",
  "--reportformat=json",
  "--units=b",
  "--nosuffix",
  // Without waiting for who changes volumes.
  "--nolocking",
  `--options=${fields.join(",")}`,
  "--select=segtype=thin-pool && lv_active=active",
] as const;

const maxComplaintChars = 500;

/** lvs(8), lvmreport(7). Values are strings, whatever they are. */
function parseThinPools(text: string): readonly ThinPool[] {
  const reports = recordsIn(parseJsonObject(text)?.["report"]);
  return reports
    .flatMap(({ lv }) => recordsIn(lv))
    .map((volume) => {
      const of = (field: string): string => (isString(volume[field]) ? volume[field] : "");
      const percent = (field: string): number | null => (of(field) === "" ? null : Number(of(field)));
      return {
        name: `${of("vg_name")}/${of("lv_name")}`,
        sizeBytes: Number(of("lv_size")),
        dataPercent: percent("data_percent"),
        metadataPercent: percent("metadata_percent"),
        health: of("lv_health_status"),
      };
    });
}

/** Whether the kernel has any; no rights are needed to ask. */
async function arePresent(files: Pick<HostFiles, "text" | "names">): Promise<boolean> {
  const devices = (await orUndefined(files.names("/sys/block"))) ?? [];
  const uuids = devices
    .filter((name) => name.startsWith("dm-"))
    .map((name) => orUndefined(files.text(`/sys/block/${name}/dm/uuid`), isDeviceGone));
  // As LVM names the device of a pool, lib/activate/dev_manager.c.
  return (await Promise.all(uuids)).some((uuid) => /^LVM-.*-tpool$/.test(uuid?.trim() ?? ""));
}

/**
 * The active pools, and why some may be missing, in LVM's words: a volume group that it cannot read hides no other. Undefined where
 * LVM's programs are not installed. @throws without an answer, which takes root.
 */
async function listPools(run: RunProgram, signal: AbortSignal) {
  const ended = await orUndefined(run(argv, { signal, timeoutMs: 20_000 }), isNotInstalled);
  if (ended === undefined) return undefined;
  const { exitCode, stdout, stderr } = ended;
  const pools = parseThinPools(stdout);
  if (exitCode === 0) return { pools, complaint: "" };
  const complaint =
    stderr
      .trim()
      .replaceAll(/\s*\n\s*/g, "; ")
      .slice(0, maxComplaintChars) || `exit code ${exitCode}`;
  if (pools.length === 0) throw new Error(`cannot ask lvs: ${complaint}`);
  return { pools, complaint };
}

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

const limits = { warn: 80, fail: 95 };

export const lvmThinCheck = ({
  hostFiles,
  exec,
}: {
  hostFiles: Pick<HostFiles, "text" | "names">;
  exec: RunProgram;
}): BuiltInCheck => ({
  id: "lvm_thin",
  name: "Thin pools of LVM",
  category: "storage",
  severity: "critical",
  thresholds: limits,
  about:
    "Thin pools of LVM by what is used of their data and of their metadata: when one of them is full, no volume of " +
    "the pool can be written. By default 80 % warns, 95 % fails, as does a pool that LVM says is unhealthy. " +
    "`ignore` takes `group/pool`, and patterns.",
  meaning: "A thin pool is nearly full: once it is full, none of its volumes can be written, and data may be lost.",
  remedy: "Extend the pool or its metadata (lvextend), or remove snapshots and volumes that are not needed.",
  intervalMs: 10 * 60_000,
  absent: async () => ((await arePresent(hostFiles)) ? undefined : skip("This host has no thin pool of LVM")),
  async run(settings, signal) {
    const listed = await listPools(exec, signal);
    if (listed === undefined) return skip("The programs of LVM are not installed");
    const { pools: all, complaint } = listed;
    const isIgnored = createIgnore(settings.ignore);
    const pools = all.filter(({ name }) => !isIgnored(name));
    if (all.length === 0)
      return skip("The kernel has a thin pool, and LVM lists none: its devices may be hidden from it");
    const unread: readonly Finding[] =
      complaint === "" ? [] : [{ status: "warn", problem: `not all thin pools may be listed: ${complaint}` }];
    if (pools.length === 0 && unread.length === 0) return skip("The settings ignore every thin pool");
    const grader = createGrader(settings);
    const findings = [...pools.map((pool) => judge(pool, thresholdsFor(limits, settings), grader)), ...unread];
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
