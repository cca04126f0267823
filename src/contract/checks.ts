import type { Static } from "typebox";
import { Type } from "typebox";
import { checkHistoryLimit } from "./limits.ts";
import type { Operations } from "./operation.ts";
import { Timestamp } from "./schema.ts";

export const checkStatuses = ["pass", "warn", "fail", "skip"] as const;
export type CheckStatus = (typeof checkStatuses)[number];
export const severities = ["critical", "high", "medium", "low"] as const;
export type Severity = (typeof severities)[number];

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
  status: Type.Unsafe<CheckStatus>({ type: "string", enum: [...checkStatuses] }),
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
  severity: Type.Unsafe<Severity>({ type: "string", enum: [...severities] }),
  checked_at: Timestamp("When the check ran."),
  fixable: Type.Boolean(),
  fix_id: Type.Optional(Type.String()),
  since: Timestamp("Since when the check has had this status."),
  consecutive_failures: Type.Integer(),
});
export type HealthCheckResult = Static<typeof HealthCheckResult>;

export const HealthCheckList = Type.Object({
  summary: HealthCheckSummary,
  results: Type.Array(HealthCheckResult),
});
export type HealthCheckList = Static<typeof HealthCheckList>;

/** One run of a check as it is kept. */
export const HealthCheckRun = Type.Object({
  checked_at: Timestamp("When the check ran."),
  status: Type.Unsafe<CheckStatus>({ type: "string", enum: [...checkStatuses] }),
  message: Type.String(),
  duration_ms: Type.Integer(),
});
export type HealthCheckRun = Static<typeof HealthCheckRun>;

export const HealthCheckHistory = Type.Object({
  check_id: Type.String(),
  runs: Type.Array(HealthCheckRun, { description: "The newest runs of the window, oldest first." }),
  total: Type.Integer({ description: "Runs in the window before `limit`." }),
});
export type HealthCheckHistory = Static<typeof HealthCheckHistory>;

const CheckId = Type.Object({
  check_id: Type.String({
    minLength: 1,
    maxLength: 128,
    description: "Identifier of the check.",
    examples: ["disk_space"],
  }),
});

export const checks = {
  listChecks: {
    method: "GET",
    path: "/health/checks",
    tag: "Health",
    summary: "All health checks",
    description: "Runs those whose last result is older than their interval, and gives all results.",
    scope: "health:read",
    effect: "read",
    response: HealthCheckList,
    errors: [],
  },
  getCheck: {
    method: "GET",
    path: "/health/checks/{check_id}",
    tag: "Health",
    summary: "Run one health check",
    description: "Always runs it. Callers who ask at the same time share one run.",
    scope: "health:read",
    effect: "read",
    params: CheckId,
    response: HealthCheckResult,
    errors: ["NOT_FOUND"],
  },
  getCheckHistory: {
    method: "GET",
    path: "/health/checks/{check_id}/history",
    tag: "Health",
    summary: "Earlier runs of a health check",
    description: "Runs are kept for 30 days.",
    scope: "health:read",
    effect: "read",
    params: CheckId,
    query: Type.Object({
      since: Type.Optional(
        Type.String({ format: "date-time", description: "Start of the window, RFC 3339. 24 hours ago unless given." }),
      ),
      limit: Type.Optional(Type.Integer({ ...checkHistoryLimit, description: "Maximum runs." })),
    }),
    response: HealthCheckHistory,
    errors: ["NOT_FOUND"],
  },
} as const satisfies Operations;
