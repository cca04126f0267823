import { type Static, Type } from "typebox";
import { DryRunQuery, type Operations } from "./operation.ts";
import { NullableString, NullableTimestamp, Options, Timestamp } from "./schema.ts";

export const RebootState = Type.Object({
  scheduled_at: NullableTimestamp(
    "When logind, or systemd for it, reboots the host, whoever asked for it; null when nothing is scheduled.",
  ),
  users: Type.Array(Type.String(), { description: "Who is logged in." }),
  inhibitors: Type.Array(
    Type.Object({
      who: Type.String(),
      why: Type.String(),
      blocks: Type.Boolean({ description: "Whether it forbids a reboot; else it delays one by some seconds." }),
    }),
    { description: "Programs that have asked logind not to be interrupted." },
  ),
  operation_id: NullableString("Operation that changes packages or snapshots now."),
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

export const RebootInput = Options({
  at: Type.String({ format: "date-time", description: "When, within 30 days, RFC 3339; at once by default." }),
  message: Type.String({
    maxLength: 200,
    pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
    default: "",
    description: "For those who are logged in.",
  }),
  ignore_inhibitors: Type.Boolean({
    default: false,
    description:
      "Also while a program inhibits it. From systemd 257 on logind refuses that, and the timer `steward-reboot.timer` does it past logind: it waits for no program, and who is logged in is told when the host goes down.",
  }),
});

export const rebooting = {
  getReboot: {
    method: "GET",
    path: "/system/reboot",
    tag: "System",
    summary: "Scheduled reboot, and what it would interrupt",
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
      "Has logind schedule it, five seconds ahead or `at` a time, and tells who is logged in. Refused with 409 while packages or snapshots change, while a program inhibits it, and while something is scheduled already.",
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
