import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { NullableString, NullableTimestamp, Options, Timestamp } from "./schema.ts";

export const RebootState = Type.Object({
  scheduled_at: NullableTimestamp(
    "When the host will be rebooted by logind or systemd, no matter who scheduled it; null if no reboot is scheduled.",
  ),
  users: Type.Array(Type.String(), { description: "Who is logged in." }),
  inhibitors: Type.Array(
    Type.Object({
      who: Type.String(),
      why: Type.String(),
      blocks: Type.Boolean({ description: "Whether it blocks a reboot; else it delays one by some seconds." }),
    }),
    { description: "Inhibitor locks of logind." },
  ),
  operation_id: NullableString("Operation that is changing packages or snapshots now."),
});
export type RebootState = Static<typeof RebootState>;

export const ScheduledReboot = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  scheduled_at: Timestamp("When the host reboots."),
});
export type ScheduledReboot = Static<typeof ScheduledReboot>;

export const CancelledReboot = Type.Object({
  success: Type.Boolean(),
  message: Type.String(),
  scheduled_at: Timestamp("When the host would have been rebooted."),
});
export type CancelledReboot = Static<typeof CancelledReboot>;

export const RebootMessage = Type.String({
  maxLength: 200,
  pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
  default: "",
  description: "Message for users who are logged in.",
});

export const RebootInput = Options({
  at: Type.String({
    format: "date-time",
    description: "Time of the reboot, within 30 days, RFC 3339; at once by default.",
  }),
  message: RebootMessage,
  ignore_inhibitors: Type.Boolean({
    default: false,
    description:
      "Reboot even while a program inhibits it. From systemd 257 on logind refuses that; the timer `steward-reboot.timer` then reboots without logind: it does not wait for any program, and users who are logged in are warned only when the host shuts down.",
  }),
});

export const rebooting = {
  getReboot: {
    method: "GET",
    path: "/system/reboot",
    tag: "System",
    summary: "Scheduled reboot, and what a reboot would interrupt",
    scope: "system:read",
    effect: "read",
    response: RebootState,
    errors: ["UNAVAILABLE"],
  },
  rebootHost: {
    method: "POST",
    path: "/system/reboot",
    tag: "System",
    summary: "Reboot the host",
    description:
      "Schedules a reboot with logind, in five seconds or at the time `at`, and warns users who are logged in. Refused with 409 while packages or snapshots are being changed, while a program inhibits it, and if a shutdown or reboot is scheduled already.",
    scope: "system:reboot",
    effect: "danger",
    query: DryRunQuery,
    body: RebootInput,
    response: ScheduledReboot,
    errors: ["CONFLICT", "UNAVAILABLE"],
  },
  cancelReboot: {
    method: "DELETE",
    path: "/system/reboot",
    tag: "System",
    summary: "Cancel a scheduled reboot",
    scope: "system:reboot",
    effect: "write",
    query: DryRunQuery,
    response: CancelledReboot,
    errors: ["NOT_FOUND", "UNAVAILABLE"],
  },
} as const satisfies Operations;
