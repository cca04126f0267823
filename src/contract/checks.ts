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
    description: "Total run time of the checks whose results are shown; these may be from earlier runs.",
  }),
});
export type HealthCheckSummary = Static<typeof HealthCheckSummary>;

export const HealthCheckResult = Type.Object({
  check_id: Type.String({ description: "Identifier of the check." }),
  name: Type.String({ description: "Display name." }),
  status: Choice(
    checkStatuses,
    "`pass`, `warn` or `fail` by the thresholds of the check; `skip` if the check does not apply to this host.",
  ),
  message: Type.String({ description: "Outcome as a sentence." }),
  details: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        "Data of the check; for `disk_space`: `path` (string), `percent_used`, `total_gb`, `free_gb` (numbers).",
    },
  ),
  details_cut: Type.Optional(
    Type.Array(Type.String(), {
      description: `In the list of all checks: members of \`details\` that are cut after their first ${mostDetailsListed} entries; \`GET /health/checks/{check_id}\` shows all of them. Else absent.`,
    }),
  ),
  thresholds: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object(
        optional({
          warn: Type.Number({ description: "The check warns at this value, and beyond it." }),
          fail: Type.Number({ description: "The check fails at this value, and beyond it." }),
        }),
      ),
      {
        description:
          "Thresholds by the names of members of `details`, or labels of the performance data of a plugin: the defaults of the check, or what the settings say. What is left, such as `free_gb`, must be below its thresholds. Absent if no single number decides.",
        examples: [{ percent_used: { warn: 80, fail: 95 } }],
      },
    ),
  ),
  duration_ms: Type.Integer(),
  category: Type.String({ description: "Category, such as `storage` or `security`." }),
  severity: Choice(
    severities,
    "Severity of a failure; a failed check of severity `critical` makes the host `unhealthy`.",
  ),
  checked_at: Timestamp("When the check ran."),
  fixable: Type.Boolean({ description: "Whether there is a fix for what was found." }),
  fix_id: Type.Optional(
    Type.String({ description: "The fix for what was found; for a check that passes, the usual one." }),
  ),
  since: Timestamp("Since when the check has had this status."),
  consecutive_failures: Type.Integer({ description: "Number of consecutive failed runs, including the last one." }),
  ...optional({
    state_type: Choice(
      ["soft", "hard"],
      "`soft` until the status has been the same in `max_attempts` consecutive runs; notifications are sent for hard states only.",
    ),
    attempt: Type.Integer({
      description: "Number of consecutive runs with the current soft state; `max_attempts` if the state is hard.",
    }),
    max_attempts: Type.Integer({ description: "Number of consecutive runs that make a status hard." }),
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
    unknown: Type.Integer({ description: "Time during which the service did not run, or the check did not exist." }),
  },
  { description: "Milliseconds in each state; their sum is the window." },
);

export const HealthCheckDay = Type.Object({
  day: Type.String({ format: "date", description: "Day in UTC; the last one has not ended." }),
  runs: Type.Integer({ description: "Number of runs on that day." }),
  changes: Type.Integer({ description: "Number of status changes." }),
  duration_ms: Type.Object({
    min: NullableInteger("Null if there were no runs."),
    mean: NullableInteger("Null if there were no runs."),
    max: NullableInteger("Null if there were no runs."),
  }),
  time_ms: TimeInStates,
});
export type HealthCheckDay = Static<typeof HealthCheckDay>;

export const HealthCheckUptime = Type.Object({
  days: Type.Integer({ description: "1, 7 or 30." }),
  since: Timestamp("Start of the window: the start of an hour, that many days ago."),
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
      "The newest entries of the window, oldest first: every run of the last hour; before that, runs that changed the status or were the first after the service had not run. Empty with `resolution=daily`.",
  }),
  total: Type.Integer({
    description: "Number of entries in the window before `limit`; number of days with `resolution=daily`.",
  }),
  days: Type.Optional(Type.Array(HealthCheckDay, { description: "With `resolution=daily`: oldest first." })),
  uptime: Type.Optional(
    Type.Array(HealthCheckUptime, { description: "With `resolution=daily`: over 1, 7 and 30 days up to now." }),
  ),
});
export type HealthCheckHistory = Static<typeof HealthCheckHistory>;

export const CheckMetricPoint = Type.Object({
  at: Timestamp("Start of the minute or hour."),
  value: Type.Number({ description: "Last value of the minute, or mean of the hour." }),
  min: Type.Optional(Type.Number({ description: "Of the hour; absent for minutes." })),
  max: Type.Optional(Type.Number({ description: "Of the hour; absent for minutes." })),
});
export type CheckMetricPoint = Static<typeof CheckMetricPoint>;

export const CheckMetrics = Type.Object({
  check_id: Type.String(),
  step_seconds: Type.Integer({ description: "60, or 3600 where the window starts more than two days ago." }),
  series: Type.Array(
    Type.Object({
      name: Type.String({
        description: "Name of the member of `details`, or label of the performance data of a plugin.",
      }),
      unit: Type.String({ description: "Unit as the plugin wrote it; empty if the name contains it." }),
      points: Type.Array(CheckMetricPoint, {
        description: "Oldest first; there is no point for a time without a run.",
      }),
    }),
    { description: "One series for each number of the check." },
  ),
});
export type CheckMetrics = Static<typeof CheckMetrics>;

export const FixStepReport = Type.Object({
  action: Type.String({ description: "What the step does, as the dry run says." }),
  status: Choice(fixStepStatuses, "`skipped`: not done because an earlier step failed."),
  message: Type.String({ description: "The result." }),
  duration_ms: Type.Integer(),
});
export type FixStepReport = Static<typeof FixStepReport>;

export const FixResult = Type.Object({
  success: Type.Boolean({
    description:
      "Whether every step succeeded, or there was nothing to do. `message` and `check` say whether that solved the problem.",
  }),
  fix_id: Type.String({ description: "The fix that was run." }),
  message: Type.String({ description: "Outcome as a sentence." }),
  steps: Type.Array(FixStepReport, { description: "What was done, in order." }),
  check: HealthCheckResult,
  risk: Choice(
    risks,
    "`safe`: nothing is lost. `moderate`: changes something that can be restored. `risky`: had to be confirmed.",
  ),
});
export type FixResult = Static<typeof FixResult>;

export const FixInput = Options({
  confirm: Type.Boolean({ default: false, description: "Must be true for a fix with risk `risky`." }),
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
    description: "Runs the checks whose last result is older than their interval, and returns all results.",
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
    description: "Always runs the check. Simultaneous calls share one run.",
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
      "Runs the check; if it warns or fails, runs its fix and then the check again. The fix continues if the client disconnects. Nothing is done for a check that passes. Only one run of each fix is active at a time. The key also needs the scopes of the actions of the fix, even for a dry run.",
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
      "Every run is kept for an hour; runs that changed the status are kept for 30 days, at most 1000 for each check. `resolution=runs` returns only the former, `transitions` only the latter, `daily` counts by day and the uptime.",
    scope: "health:read",
    effect: "read",
    params: CheckId,
    query: Options({
      since: Type.String({
        format: "date-time",
        description: "Start of the window, RFC 3339. 24 hours ago unless given; 30 days for `daily`.",
      }),
      limit: Type.Integer({ ...checkHistoryLimit, description: "Maximum entries." }),
      resolution: Choice(historyResolutions, "Runs of the last hour and earlier transitions unless given."),
    }),
    response: HealthCheckHistory,
    errors: ["NOT_FOUND"],
  },
  getCheckMetrics: {
    method: "GET",
    path: "/health/metrics",
    tag: "Health",
    summary: "Numbers of a health check over time",
    description:
      "The performance data of a plugin, else the numbers in the `details` of the check: the last value of each minute for two days; mean, minimum and maximum of each hour for 90 days. At most 16 series for each check and 200 in all.",
    scope: "health:read",
    effect: "read",
    query: Type.Object({
      check: Type.String({
        minLength: 1,
        maxLength: 128,
        description: "Identifier of the check.",
        examples: ["disk_space"],
      }),
      name: Type.Optional(
        Type.String({ maxLength: 64, description: "Only this series; all series of the check unless given." }),
      ),
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
