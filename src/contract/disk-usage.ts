import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { Choice, MayLack, Options, Timestamp } from "./schema.ts";

export const diskUsageLimit = { minimum: 1, maximum: 1_000, default: 100 } as const;
export const diskUsageOrders = ["bytes", "entries"] as const;
/** Files that were written within this time are listed separately. */
export const lateWritesMs = 60 * 60_000;
export const diskUsageDepth = { minimum: 0, maximum: 16, default: 1 } as const;

const UsageEntry = Type.Object({
  path: Type.String(),
  type: Choice(["folder", "file"], "`file` is anything that is not a directory."),
  bytes: Type.Integer({ description: "Disk usage as `du` counts it; for a directory with everything below it." }),
  entries: Type.Integer({ description: "Number of files and directories below it; 0 for a file." }),
  is_complete: Type.Boolean({
    description: "False if the walk ended before all of it was read: `bytes` is then a lower bound.",
  }),
});

const WrittenFile = Type.Object({
  path: Type.String(),
  bytes: Type.Integer({ description: "Its disk usage, not how much it grew: no earlier size is known." }),
  modified_at: Timestamp("When its content was last written."),
});

const NamedPaths = Type.Object({
  total: Type.Integer(),
  paths: Type.Array(Type.String(), { description: "The first 100." }),
});

export const DiskUsage = Type.Object({
  path: Type.String({ description: "Directory that was measured." }),
  bytes: Type.Integer({ description: "Disk usage of everything that was read below it." }),
  entries: Type.Integer({ description: "Number of files and directories that were read below it." }),
  largest: Type.Array(UsageEntry, {
    description: "The largest files and directories down to `depth`, in the order of `sort`.",
  }),
  written_lately: Type.Array(WrittenFile, {
    description:
      "The largest files at any depth that were written in the last hour, the largest first, at most `limit`.",
  }),
  unreadable: Type.Object(NamedPaths.properties, {
    description:
      "Directories that this service cannot read, and those that are hidden from it by a private one (such as /tmp).",
  }),
  other_file_systems: Type.Object(NamedPaths.properties, {
    description: "Directories where another file system is mounted; not counted.",
  }),
  truncated: Type.Union([Choice(["time", "entries"]), Type.Null()], {
    description: "Why the walk ended early; null if it did not. Ask for a directory in `largest` to continue there.",
  }),
  duration_ms: Type.Integer(),
  ...MayLack,
});
export type DiskUsage = Static<typeof DiskUsage>;

export const diskUsage = {
  getDiskUsage: {
    method: "GET",
    path: "/system/disk-usage",
    tag: "System",
    summary: "Disk usage below a directory",
    description:
      "Reads at most a million entries in 20 s, on one file system, without following symbolic links; a file with several hard links counts once. What this service cannot read is named, and `not_shown` names directories that do not answer; if that is the directory itself, the answer is `UNAVAILABLE`. The walk ends when the client disconnects.",
    scope: "disk-usage:read",
    effect: "read",
    query: Type.Object({
      path: Type.String({
        minLength: 1,
        maxLength: 4096,
        pattern: "^/[^\\u0000]*$",
        description: "Absolute path of a directory.",
        examples: ["/usr/share/doc"],
      }),
      ...Options({
        depth: Type.Integer({ ...diskUsageDepth, description: "Levels below the directory that `largest` includes." }),
        limit: Type.Integer({ ...diskUsageLimit, description: "Maximum entries of `largest`." }),
        sort: Choice(
          diskUsageOrders,
          "What `largest` is chosen and ordered by: disk usage, or number of entries, each of which takes an inode.",
          "bytes",
        ),
      }).properties,
    }),
    response: DiskUsage,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
