import type { Static } from "typebox";
import { Type } from "typebox";
import { Timestamp } from "./schema.ts";

const checkStatuses = ["pass", "warn", "fail", "skip"] as const;
const severities = ["critical", "high", "medium", "low"] as const;

/** Counts over all checks: total = passed + warned + failed + skipped. */
export const HealthCheckSummary = Type.Object({
  total: Type.Integer(),
  passed: Type.Integer(),
  warned: Type.Integer(),
  failed: Type.Integer(),
  skipped: Type.Integer(),
  duration_ms: Type.Integer(),
});
export type HealthCheckSummary = Static<typeof HealthCheckSummary>;

export const HealthCheckResult = Type.Object({
  check_id: Type.String({ description: "Identifier of the check." }),
  name: Type.String({ description: "Display name." }),
  status: Type.Unsafe<(typeof checkStatuses)[number]>({ type: "string", enum: [...checkStatuses] }),
  message: Type.String({ description: "Outcome for people." }),
  details: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        "Figures of the check; for `disk_space`: `path` (string), `percent_used`, `total_gb`, `free_gb` (numbers).",
    },
  ),
  duration_ms: Type.Integer(),
  category: Type.String(),
  severity: Type.Unsafe<(typeof severities)[number]>({ type: "string", enum: [...severities] }),
  checked_at: Timestamp("When the check ran."),
  fixable: Type.Boolean(),
  fix_id: Type.Optional(Type.String()),
  since: Timestamp("Since when the check has had this status."),
  consecutive_failures: Type.Integer(),
});
export type HealthCheckResult = Static<typeof HealthCheckResult>;
