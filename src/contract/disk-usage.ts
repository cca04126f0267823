import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { Choice, MayLack, Options } from "./schema.ts";

export const diskUsageLimit = { minimum: 1, maximum: 1_000, default: 100 } as const;
export const diskUsageDepth = { minimum: 0, maximum: 16, default: 1 } as const;

const UsageEntry = Type.Object({
  path: Type.String(),
  type: Choice(["folder", "file"], "Everything that is no folder is a file here."),
  bytes: Type.Integer({ description: "What it takes on the disk, as `du` counts; of a folder with all below it." }),
  entries: Type.Integer({ description: "Files and folders below it; 0 for a file." }),
  is_complete: Type.Boolean({
    description: "False where the walk ended before all of it was read: `bytes` is the least.",
  }),
});

const NamedPaths = Type.Object({
  total: Type.Integer(),
  paths: Type.Array(Type.String(), { description: "The first 100." }),
});

export const DiskUsage = Type.Object({
  path: Type.String({ description: "Folder that was measured." }),
  bytes: Type.Integer({ description: "What it takes with all that was read below it." }),
  entries: Type.Integer({ description: "Files and folders that were read below it." }),
  largest: Type.Array(UsageEntry, { description: "The largest down to `depth`, the largest first." }),
  unreadable: Type.Object(NamedPaths.properties, {
    description: "Folders that this service may not or cannot read, and those in whose place it has one of its own.",
  }),
  other_file_systems: Type.Object(NamedPaths.properties, { description: "Folders where another begins; not counted." }),
  truncated: Type.Union([Choice(["time", "entries"]), Type.Null()], {
    description: "Why the walk ended early; null where it did not. Ask for a folder in `largest` to go on there.",
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
    summary: "What takes room below a folder",
    description:
      "Reads at most a million entries in 20 s, on one file system, without following links; a file with several names counts once. What this service may not read is named, and `not_shown` names folders that give no answer; where that is the folder itself, the answer is `UNAVAILABLE`. It ends when the client goes away.",
    scope: "disk-usage:read",
    effect: "read",
    query: Type.Object({
      path: Type.String({
        minLength: 1,
        maxLength: 4096,
        pattern: "^/[^\\u0000]*$",
        description: "Absolute path of a folder.",
        examples: ["/usr/share/doc"],
      }),
      ...Options({
        depth: Type.Integer({ ...diskUsageDepth, description: "Levels below it that `largest` has." }),
        limit: Type.Integer({ ...diskUsageLimit, description: "Maximum entries of `largest`." }),
      }).properties,
    }),
    response: DiskUsage,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
