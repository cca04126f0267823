import { type DiskUsage, type diskUsage, diskUsageDepth, diskUsageLimit, lateWritesMs } from "#contract/disk-usage.ts";
import type { Handlers } from "#contract/operation.ts";
import { DomainError } from "#domain/common/error.ts";
import { type DirectorySizes, type NamedPaths, NoDirectory } from "#domain/ports/disk-usage.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { onHost } from "./service.ts";

const toNamed = ({ total, paths }: NamedPaths): DiskUsage["unreadable"] => ({ total, paths: [...paths] });

export function diskUsageHandlers(ports: {
  readonly directories: DirectorySizes;
  readonly clock: Pick<Clock, "now" | "monotonicMs">;
}): Handlers<typeof diskUsage> {
  const { directories, clock } = ports;
  return {
    getDiskUsage: ({ query }, context) =>
      onHost(`measure ${query.path}`, async (): Promise<DiskUsage> => {
        const { path, depth = diskUsageDepth.default, limit = diskUsageLimit.default, sort = "bytes" } = query;
        const startedAt = clock.monotonicMs();
        try {
          const found = await directories.measure(
            path,
            { depth, limit, sort, writtenSince: clock.now() - lateWritesMs },
            context.signal(),
          );
          return {
            ...{ path: found.path, bytes: found.bytes, entries: found.entries, truncated: found.truncated },
            largest: found.largest.map(({ isDirectory, isComplete, path: at, bytes, entries }) => ({
              ...{ path: at, type: isDirectory ? "folder" : "file", bytes, entries, is_complete: isComplete },
            })),
            written_lately: found.written.map(({ path: at, bytes, modifiedAt }) => ({
              ...{ path: at, bytes, modified_at: toTimestamp(modifiedAt) },
            })),
            unreadable: toNamed(found.unreadable),
            other_file_systems: toNamed(found.otherFileSystems),
            ...(found.silent.length > 0 && {
              not_shown: found.silent.map((each) => ({ what: each, reason: "it gives no answer" })),
            }),
            duration_ms: Math.round(clock.monotonicMs() - startedAt),
          };
        } catch (error) {
          if (!(error instanceof NoDirectory)) throw error;
          throw new DomainError("NOT_FOUND", `cannot measure ${path}: ${error.message}`, { path });
        }
      }),
  };
}
