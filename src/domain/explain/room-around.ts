import type { HealthCheckResult } from "#contract/checks.ts";
import type { DiskUsage } from "#contract/disk-usage.ts";
import type { Context } from "#contract/operation.ts";
import { formatBytes } from "#kernel/text.ts";
import { isRecord } from "#kernel/values.ts";
import { ask, type Reads, type Surrounding } from "./reads.ts";

const few = { files: 12 } as const;
const ofRoom = new Set(["disk_space", "inode_usage", "journal_size"]);

/** The path of the file system that is fullest, as a check of file systems names it. */
function pathIn({ details }: HealthCheckResult): string | undefined {
  const { path } = isRecord(details) ? details : {};
  return typeof path === "string" && path.startsWith("/") ? path : undefined;
}

const measure = (reads: Reads, result: HealthCheckResult, context: Context): Promise<DiskUsage> =>
  ask(reads, "getDiskUsage", { path: pathIn(result) ?? "/", depth: 4, limit: few.files }, context);

const lineOf = ({ path, type, bytes, entries }: DiskUsage["largest"][number]): string =>
  type === "file" ? `${path}: ${formatBytes(bytes)}` : `${path}/: ${formatBytes(bytes)} in ${entries} entries`;

export const roomTaken: readonly Surrounding[] = [
  {
    title: "What takes most room, as far as the service may read it",
    scope: "disk-usage:read",
    concerns: (result) => ofRoom.has(result.check_id) && pathIn(result) !== undefined,
    async read(reads, result, context) {
      const { largest, truncated } = await measure(reads, result, context);
      const lines = largest.map(lineOf);
      return { lines: truncated === null ? lines : [...lines, `not all of it was read (${truncated})`] };
    },
  },
];
