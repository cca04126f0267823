import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { Choice, NullableString, NullableTimestamp, Timestamp } from "./schema.ts";

export const automaticWhats = ["security", "all"] as const;
export const automaticReboots = ["never", "when_needed", "in_window"] as const;
export const automaticNews = ["changes", "failures", "never"] as const;
export const automaticOutcomes = ["installed", "nothing", "refused", "failed"] as const;
export type AutomaticOutcome = (typeof automaticOutcomes)[number];

const NextRun = Type.Object({
  opens_at: Timestamp("When the window opens."),
  starts_at: Timestamp("When the update begins: a moment in the first half of the window, another one on each host."),
  closes_at: Timestamp("When the window closes: no update begins later."),
});

const LastRun = Type.Object({
  window_opened_at: Timestamp("When its window opened."),
  ended_at: Timestamp("When it was over."),
  outcome: Choice(automaticOutcomes, "`refused`: nothing was begun."),
  message: Type.String({ description: "What was done, or why it was not." }),
  operation_id: NullableString("The operation that installed updates; null without one."),
  reboot_at: NullableTimestamp("When the host was to be rebooted for it; null when it was not."),
});

export const AutomaticUpdates = Type.Object({
  enabled: Type.Boolean({ description: "Whether the settings have `updates.automatic`." }),
  what: NullableString("`security` or `all`; null when it is not enabled."),
  guard: Type.Boolean({ description: "Whether a worse host is rolled back." }),
  reboot: Choice(automaticReboots, "Whether the host is rebooted where an update needs it."),
  blocked: NullableString("Why nothing would be installed at present; null when nothing is in the way."),
  next: Type.Union([NextRun, Type.Null()]),
  last: Type.Union([LastRun, Type.Null({ description: "None yet." })]),
});
export type AutomaticUpdates = Static<typeof AutomaticUpdates>;

export const automaticUpdates = {
  getAutomaticUpdates: {
    method: "GET",
    path: "/updates/automatic",
    tag: "Updates",
    summary: "Updates that the service installs by itself",
    description: "When the next window opens, what the last one brought, and what is in the way.",
    scope: "updates:read",
    effect: "read",
    response: AutomaticUpdates,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
