import type { HealthCheckResult } from "#contract/checks.ts";
import type { DiskUsage, diskUsageOrders } from "#contract/disk-usage.ts";
import type { Context } from "#contract/operation.ts";
import { formatBytes } from "#kernel/text.ts";
import { isRecord } from "#kernel/values.ts";
import { ask, type Reads, type Surrounding } from "./reads.ts";

const few = { files: 12, written: 8 } as const;

/** The path of the file system that is fullest, as a check of file systems names it. */
function pathIn({ details }: HealthCheckResult): string | undefined {
  const { path } = isRecord(details) ? details : {};
  return typeof path === "string" && path.startsWith("/") ? path : undefined;
}

const measure = (sort: (typeof diskUsageOrders)[number], reads: Reads, result: HealthCheckResult, context: Context) =>
  ask(reads, "getDiskUsage", { path: pathIn(result) ?? "/", depth: 4, limit: few.files, sort }, context);

const lineOf = ({ path, type, bytes, entries }: DiskUsage["largest"][number]): string =>
  type === "file" ? `${path}: ${formatBytes(bytes)}` : `${path}/: ${formatBytes(bytes)} in ${entries} entries`;

const whole = (lines: readonly string[], { truncated }: DiskUsage): readonly string[] =>
  truncated === null ? lines : [...lines, `not all of it was read (${truncated})`];

export const diskSpaceUsed: Surrounding = {
  title: "What uses most space, as far as the service may read it",
  scope: "disk-usage:read",
  concerns: (result) => result.check_id === "disk_space" && pathIn(result) !== undefined,
  async read(reads, result, context) {
    const usage = await measure("bytes", reads, result, context);
    // What fills a disk may be small beside what has been on it for long.
    const written = usage.written_lately
      .slice(0, few.written)
      .map(({ path, bytes, modified_at: at }) => `written in the last hour: ${path}: ${formatBytes(bytes)} at ${at}`);
    return { lines: [...written, ...whole(usage.largest.map(lineOf), usage)] };
  },
};

export const inodesUsed: Surrounding = {
  title: "Directories with most entries, as far as the service may read it",
  scope: "disk-usage:read",
  concerns: (result) => result.check_id === "inode_usage" && pathIn(result) !== undefined,
  async read(reads, result, context) {
    const usage = await measure("entries", reads, result, context);
    const directories = usage.largest.filter(({ type }) => type === "folder");
    return {
      lines: whole(
        directories.map(({ path, entries }) => `${path}/: ${entries} entries`),
        usage,
      ),
    };
  },
};
