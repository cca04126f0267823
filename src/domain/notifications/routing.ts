import type { ChannelSeverity, NotificationChannel, NotificationKind } from "#contract/alerts.ts";
import type { StoredNotification } from "#domain/ports/notifications.ts";
import type { Draft } from "./messages.ts";

/** Whether a later event of the same subject ends what one of this kind began, or this one ends it. */
const isResolvable: Readonly<Record<NotificationKind, boolean>> = {
  component_down: true,
  component_up: true,
  component_flaps: true,
  component_settled: true,
  alert_firing: true,
  alert_resolved: true,
  check_failed: true,
  check_warned: true,
  check_recovered: true,
  operation_failed: false,
  operation_rolled_back: false,
  plugin_disabled: false,
  expired_key_used: false,
  approval_wanted: false,
  audit_broken: false,
  digest: false,
  updates_installed: false,
  updates_not_installed: false,
  test: false,
};

/** They open incidents: what nothing resolves would stay open. */
const incidentChannels: readonly NotificationChannel[] = ["pagerduty", "opsgenie"];

/**
 * Channels that an event goes to by its severity: to those with `all` each one, to those with `critical` what is critical. Those
 * without a severity (chat, email, the paging receiver) are left to their own rules.
 */
export function channelsFor(
  { kind, severity }: Pick<Draft, "kind" | "severity">,
  configured: ReadonlyMap<NotificationChannel, { readonly severity?: ChannelSeverity }>,
): readonly NotificationChannel[] {
  return [...configured].flatMap(([channel, { severity: wanted }]) => {
    if (wanted === undefined || (wanted === "critical" && severity !== "critical")) return [];
    return incidentChannels.includes(channel) && !isResolvable[kind] ? [] : [channel];
  });
}

type Sent = Pick<StoredNotification, "kind" | "channel" | "subject" | "message">;

/** Whether it ends an incident, which stays open in the eyes of others until it has arrived. */
export const endsIncident = ({ kind, channel, message }: Sent): boolean =>
  message.isGood && isResolvable[kind] && incidentChannels.includes(channel);

/** Whether two notifications of a channel are about one incident: of one sort (the first word of the kind) and one subject. */
export const isSameIncident = (one: Sent, other: Sent): boolean =>
  one.subject === other.subject && one.kind.split("_")[0] === other.kind.split("_")[0];

/**
 * The event as a channel is to take it: a critical check that has come down to a warning is over for a channel of critical events,
 * which is sent nothing when the warning ends.
 */
export const draftFor = (draft: Draft, wanted: ChannelSeverity | undefined): Draft =>
  wanted === "critical" && draft.kind === "check_warned" ? { ...draft, kind: "check_recovered", isGood: true } : draft;
