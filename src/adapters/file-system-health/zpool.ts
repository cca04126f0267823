import type { ZfsPool } from "#domain/ports/file-system-health.ts";
import { isRecord, isString, type JsonObject, parseJsonObject } from "#kernel/values.ts";

const kinds = ["read_errors", "write_errors", "checksum_errors"] as const;

const membersOf = (value: unknown): readonly JsonObject[] =>
  isRecord(value) ? Object.values(value).filter(isRecord) : [];

/** Disks and files: what is made of others counts their errors once more. */
const leavesOf = (vdev: JsonObject): readonly JsonObject[] => {
  const below = membersOf(vdev["vdevs"]);
  return below.length === 0 ? [vdev] : below.flatMap(leavesOf);
};

/** `zpool status --json --json-int`, zpool-status(8) of OpenZFS 2.3. */
export function parseZpoolStatus(text: string): readonly ZfsPool[] {
  return membersOf(parseJsonObject(text)?.["pools"]).map((pool) => {
    const leaves = membersOf(pool["vdevs"]).flatMap(leavesOf);
    const errors = kinds.map((kind) => [kind, leaves.reduce((sum, leaf) => sum + Number(leaf[kind] ?? 0), 0)] as const);
    const data = ["data_errors", Number(pool["error_count"] ?? 0)] as const;
    const scan = isRecord(pool["scan_stats"]) ? pool["scan_stats"] : {};
    const isScrubbed = scan["function"] === "SCRUB" && scan["state"] === "FINISHED";
    return {
      name: isString(pool["name"]) ? pool["name"] : "",
      state: isString(pool["state"]) ? pool["state"] : "",
      errors: Object.fromEntries([...errors, data].filter(([, count]) => count > 0)),
      lastErrorAt: null,
      missingDevices: leaves.filter(({ state }) => state === "UNAVAIL" || state === "REMOVED").length,
      scrub: isScrubbed ? { endedAt: Number(scan["end_time"]) * 1000, unrepaired: Number(scan["errors"] ?? 0) } : null,
    };
  });
}
