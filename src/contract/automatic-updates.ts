import { type Static, Type } from "typebox";
import type { Operations } from "./operation.ts";
import { Choice, NullableString, NullableTimestamp, Timestamp } from "./schema.ts";

export const automaticWhats = ["security", "all"] as const;
export const automaticReboots = ["never", "when_needed", "in_window"] as const;
export const automaticNotifications = ["changes", "failures", "never"] as const;
export const automaticOutcomes = ["installed", "nothing", "refused", "failed"] as const;
export type AutomaticOutcome = (typeof automaticOutcomes)[number];

const NextRun = Type.Object({
  opens_at: Timestamp("When the window opens."),
  starts_at: Timestamp("When the update begins: at a time in the first half of the window that differs by host."),
  closes_at: Timestamp("When the window closes; no update begins later."),
});

const LastRun = Type.Object({
  window_opened_at: Timestamp("When the window opened."),
  ended_at: Timestamp("When the run ended."),
  outcome: Choice(automaticOutcomes, "`refused`: no update was started."),
  message: Type.String({ description: "What was done, or why nothing was." }),
  operation_id: NullableString("The operation that installed updates; null if there was none."),
  reboot_at: NullableTimestamp("Time for which a reboot was scheduled; null if none was."),
});

export const AutomaticUpdates = Type.Object({
  enabled: Type.Boolean({ description: "Whether the settings have `updates.automatic`." }),
  what: NullableString("`security` or `all`; null if automatic updates are not enabled."),
  guard: Type.Boolean({ description: "Whether the update is rolled back if the host is worse afterwards." }),
  reboot: Choice(automaticReboots, "Whether the host is rebooted if an update needs it."),
  blocked: NullableString("Why nothing would be installed now; null if nothing prevents it."),
  next: Type.Union([NextRun, Type.Null()]),
  last: Type.Union([LastRun, Type.Null({ description: "Null if there has been no run." })]),
});
export type AutomaticUpdates = Static<typeof AutomaticUpdates>;

export const automaticUpdates = {
  getAutomaticUpdates: {
    method: "GET",
    path: "/updates/automatic",
    tag: "Updates",
    summary: "Updates that the service installs by itself",
    description: "When the next window opens, what the last run did, and what prevents a run.",
    scope: "updates:read",
    effect: "read",
    response: AutomaticUpdates,
    errors: ["UNAVAILABLE"],
  },
} as const satisfies Operations;
