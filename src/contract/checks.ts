import { type Static, Type } from "typebox";
import { checkHistoryLimit } from "./limits.ts";
import { DryRunQuery, type Operations, risks } from "./operation.ts";
import { Choice, NullableInteger, Options, optional, Timestamp } from "./schema.ts";

export const checkStatuses = ["pass", "warn", "fail", "skip"] as const;
export type CheckStatus = (typeof checkStatuses)[number];

/** How bad a status is; a check that is skipped has nothing to complain of. */
export type CheckLevel = Exclude<CheckStatus, "skip">;

export const statusRank = { pass: 0, skip: 0, warn: 1, fail: 2 } as const satisfies Record<CheckStatus, number>;

export const isUnhealthy = ({ status }: { readonly status: CheckStatus }): boolean =>
  status === "warn" || status === "fail";

export const severities = ["critical", "high", "medium", "low"] as const;
export type Severity = (typeof severities)[number];
const historyResolutions = ["runs", "transitions", "daily"] as const;
const fixStepStatuses = ["done", "failed", "skipped"] as const;

/** Entries of a list in `details` that the list of all checks has. */
export const mostDetailsListed = 20;

export const HealthCheckSummary = Type.Object({
  total: Type.Integer({ description: "All checks: the sum of the other four." }),
  passed: Type.Integer({ description: "Checks with the status `pass`." }),
  warned: Type.Integer({ description: "Checks with the status `warn`." }),
  failed: Type.Integer({ description: "Checks with the status `fail`." }),
  skipped: Type.Integer({ description: "Checks with the status `skip`: they do not apply to this host." }),
  duration_ms: Type.Integer({
    description: "Run time of the checks, added up: of the runs that these results are of, which may be earlier ones.",
  }),
});
export type HealthCheckSummary = Static<typeof HealthCheckSummary>;

export const HealthCheckResult = Type.Object({
  check_id: Type.String({ description: "Identifier of the check." }),
  name: Type.String({ description: "Display name." }),
  status: Choice(
    checkStatuses,
    "`pass`, `warn` and `fail` as its thresholds say; `skip` where it does not apply to this host.",
  ),
  message: Type.String({ description: "Outcome for people." }),
  details: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        "Figures of the check; for `disk_space`: `path` (string), `percent_used`, `total_gb`, `free_gb` (numbers).",
    },
  ),
  details_cut: Type.Optional(
    Type.Array(Type.String(), {
      description: `In the list of all checks: members of \`details\` of which only the first ${mostDetailsListed} entries are shown. \`GET /health/checks/{check_id}\` has the others. Else absent.`,
    }),
  ),
  duration_ms: Type.Integer(),
  category: Type.String({ description: "Subject, such as `storage` or `security`." }),
  severity: Choice(severities, "How bad a failure is: one of severity `critical` makes the host `unhealthy`."),
  checked_at: Timestamp("When the check ran."),
  fixable: Type.Boolean({ description: "Whether there is a fix that can do something about what was found." }),
  fix_id: Type.Optional(
    Type.String({ description: "The fix for what was found; for a check that passes, the usual one." }),
  ),
  since: Timestamp("Since when the check has had this status."),
  consecutive_failures: Type.Integer({ description: "Runs in a row that failed, up to the last one." }),
  ...optional({
    state_type: Choice(
      ["soft", "hard"],
      "`soft` while the status differs from the last that was seen in `max_attempts` runs in a row; people are told of hard states.",
    ),
    attempt: Type.Integer({
      description: "Runs in a row with the present soft state; `max_attempts` when it is hard.",
    }),
    max_attempts: Type.Integer({ description: "Runs in a row that make a status hard." }),
  }),
});
export type HealthCheckResult = Static<typeof HealthCheckResult>;

export const HealthCheckList = Type.Object({
  summary: HealthCheckSummary,
  results: Type.Array(HealthCheckResult),
});
export type HealthCheckList = Static<typeof HealthCheckList>;

export const HealthCheckRun = Type.Object({
  checked_at: Timestamp("When the check ran."),
  status: Choice(checkStatuses),
  message: Type.String(),
  duration_ms: Type.Integer(),
});
export type HealthCheckRun = Static<typeof HealthCheckRun>;

const TimeInStates = Type.Object(
  {
    pass: Type.Integer(),
    warn: Type.Integer(),
    fail: Type.Integer(),
    skip: Type.Integer(),
    unknown: Type.Integer({ description: "The service did not run, or the check was not there." }),
  },
  { description: "Milliseconds in each state. They add up to the window." },
);

export const HealthCheckDay = Type.Object({
  day: Type.String({ format: "date", description: "Day of UTC. The last one goes on." }),
  runs: Type.Integer({ description: "Runs of that day." }),
  changes: Type.Integer({ description: "Changes of the status." }),
  duration_ms: Type.Object({
    min: NullableInteger("Null without runs."),
    mean: NullableInteger("Null without runs."),
    max: NullableInteger("Null without runs."),
  }),
  time_ms: TimeInStates,
});
export type HealthCheckDay = Static<typeof HealthCheckDay>;

export const HealthCheckUptime = Type.Object({
  days: Type.Integer({ description: "1, 7 or 30." }),
  since: Timestamp("Start of the window: the start of an hour, so many days ago."),
  until: Timestamp("End of the window: now."),
  time_ms: TimeInStates,
  percent: Type.Object(
    { pass: Type.Number(), warn: Type.Number(), fail: Type.Number(), skip: Type.Number(), unknown: Type.Number() },
    { description: "The same as shares of the window, rounded to three decimals." },
  ),
});
export type HealthCheckUptime = Static<typeof HealthCheckUptime>;

export const HealthCheckHistory = Type.Object({
  check_id: Type.String(),
  runs: Type.Array(HealthCheckRun, {
    description:
      "The newest entries of the window, oldest first: every run of the last hour, before it the runs that changed the status or were the first after a time without the service. None with `resolution=daily`.",
  }),
  total: Type.Integer({ description: "Entries in the window before `limit`; with `resolution=daily` days." }),
  days: Type.Optional(Type.Array(HealthCheckDay, { description: "With `resolution=daily`: oldest first." })),
  uptime: Type.Optional(
    Type.Array(HealthCheckUptime, { description: "With `resolution=daily`: over 1, 7 and 30 days up to now." }),
  ),
});
export type HealthCheckHistory = Static<typeof HealthCheckHistory>;

export const CheckMetricPoint = Type.Object({
  at: Timestamp("Start of the minute or hour."),
  value: Type.Number({ description: "Last value of the minute, mean of the hour." }),
  min: Type.Optional(Type.Number({ description: "Of the hour." })),
  max: Type.Optional(Type.Number({ description: "Of the hour." })),
});
export type CheckMetricPoint = Static<typeof CheckMetricPoint>;

export const CheckMetrics = Type.Object({
  check_id: Type.String(),
  step_seconds: Type.Integer({ description: "60, or 3600 where the window starts more than two days ago." }),
  series: Type.Array(
    Type.Object({
      name: Type.String({ description: "Of the member of `details`, or the label of a plugin's performance data." }),
      unit: Type.String({ description: "As the plugin wrote it; empty where the name contains it." }),
      points: Type.Array(CheckMetricPoint, { description: "Oldest first; none for times without a run." }),
    }),
    { description: "One for each figure of the check." },
  ),
});
export type CheckMetrics = Static<typeof CheckMetrics>;

export const FixStepReport = Type.Object({
  action: Type.String({ description: "What it does, in the words of the dry run." }),
  status: Choice(fixStepStatuses, "`skipped`: not done because a step before it failed."),
  message: Type.String({ description: "The result." }),
  duration_ms: Type.Integer(),
});
export type FixStepReport = Static<typeof FixStepReport>;

export const FixResult = Type.Object({
  success: Type.Boolean({
    description:
      "Every step did what it should, or there was nothing to do. Whether that was enough is in `message`, and in `check`.",
  }),
  fix_id: Type.String({ description: "The fix that was carried out." }),
  message: Type.String({ description: "Outcome for people." }),
  steps: Type.Array(FixStepReport, { description: "What was done, in order." }),
  check: HealthCheckResult,
  risk: Choice(risks, "`safe`: without loss. `moderate`: changes something replaceable. `risky`: had to be confirmed."),
});
export type FixResult = Static<typeof FixResult>;

export const FixInput = Options({
  confirm: Type.Boolean({ default: false, description: "Has to be true for a fix whose risk is `risky`." }),
});

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
    versioned: true,
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
  fixCheck: {
    method: "POST",
    path: "/health/checks/{check_id}/fix",
    tag: "Health",
    summary: "Fix what a health check finds",
    description:
      "Runs the check; where it warns or fails, carries out its fix and runs it again. The fix goes on when the client goes. A check that passes is left alone. One fix of a kind runs at a time. The key needs the scopes of what the fix does besides, also for a dry run.",
    scope: "health:fix",
    resource: ({ check_id: id = "" }) => id,
    effect: "danger",
    doesMore: "fix",
    takesLong: true,
    params: CheckId,
    query: DryRunQuery,
    body: FixInput,
    response: FixResult,
    errors: ["NOT_FOUND", "CONFLICT"],
  },
  getCheckHistory: {
    method: "GET",
    path: "/health/checks/{check_id}/history",
    tag: "Health",
    summary: "History of a health check",
    description:
      "Every run is kept for an hour, and for 30 days those that changed the status, at most 1000 of a check. `resolution=runs` gives the first alone, `transitions` the second alone, `daily` counts of days and the uptime.",
    scope: "health:read",
    effect: "read",
    params: CheckId,
    query: Options({
      since: Type.String({
        format: "date-time",
        description: "Start of the window, RFC 3339. 24 hours ago unless given; 30 days for `daily`.",
      }),
      limit: Type.Integer({ ...checkHistoryLimit, description: "Maximum entries." }),
      resolution: Choice(historyResolutions, "Runs of the last hour and transitions before it unless given."),
    }),
    response: HealthCheckHistory,
    errors: ["NOT_FOUND"],
  },
  getCheckMetrics: {
    method: "GET",
    path: "/health/metrics",
    tag: "Health",
    summary: "Figures of a health check over time",
    description:
      "The performance data of a plugin, else the numbers in the `details` of the check: the last value of each minute for two days, mean, minimum and maximum of each hour for 90 days. At most 16 series of a check and 200 in all.",
    scope: "health:read",
    effect: "read",
    query: Type.Object({
      check: Type.String({
        minLength: 1,
        maxLength: 128,
        description: "Identifier of the check.",
        examples: ["disk_space"],
      }),
      name: Type.Optional(Type.String({ maxLength: 64, description: "One series. All of the check unless given." })),
      since: Type.Optional(
        Type.String({ format: "date-time", description: "Start of the window, RFC 3339. 24 hours ago unless given." }),
      ),
      until: Type.Optional(
        Type.String({ format: "date-time", description: "End of the window, RFC 3339. Now unless given." }),
      ),
    }),
    response: CheckMetrics,
    errors: ["NOT_FOUND"],
  },
} as const satisfies Operations;
