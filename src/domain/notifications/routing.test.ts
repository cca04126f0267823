import { describe, expect, it } from "vitest";
import {
  type AlertSeverity,
  type ChannelSeverity,
  channelSeverities,
  type NotificationChannel,
  notificationChannels,
  notificationKinds,
} from "#contract/alerts.ts";
import { channelsFor } from "./routing.ts";

const configured = (channels: Partial<Record<NotificationChannel, ChannelSeverity>>) =>
  new Map(
    notificationChannels.flatMap((channel) => {
      const severity = channels[channel];
      return severity === undefined ? [] : [[channel, { severity }] as const];
    }),
  );
const some = configured({ ntfy: "all", telegram: "critical", pagerduty: "critical", opsgenie: "all", webhook: "all" });

describe("the channels of an event", () => {
  it.each([
    ["alert_firing", "critical", ["ntfy", "telegram", "pagerduty", "opsgenie", "webhook"]],
    ["alert_resolved", "critical", ["ntfy", "telegram", "pagerduty", "opsgenie", "webhook"]],
    ["alert_firing", "warning", ["ntfy", "opsgenie", "webhook"]],
    ["alert_resolved", "warning", ["ntfy", "opsgenie", "webhook"]],
    ["component_down", undefined, ["ntfy", "opsgenie", "webhook"]],
    ["component_settled", undefined, ["ntfy", "opsgenie", "webhook"]],
    ["updates_installed", undefined, ["ntfy", "webhook"]],
    ["updates_not_installed", "critical", ["ntfy", "telegram", "webhook"]],
  ] as const)("of kind %s and severity %s are those of its severity", (kind, severity, channels) => {
    expect(channelsFor({ kind, ...(severity !== undefined && { severity }) }, some)).toEqual(channels);
  });

  it("do not include chat and email, which have rules of their own", () => {
    const older = new Map((["chat", "email", "paging_chat", "paging_email"] as const).map((channel) => [channel, {}]));
    for (const kind of notificationKinds) expect(channelsFor({ kind, severity: "critical" }, older)).toEqual([]);
  });

  it("are with `all` never fewer than with `critical`", () => {
    for (const kind of notificationKinds) {
      for (const severity of [undefined, "warning", "critical"] satisfies readonly (AlertSeverity | undefined)[]) {
        for (const channel of notificationChannels) {
          const [all, critical] = channelSeverities.map((wanted) =>
            channelsFor({ kind, ...(severity !== undefined && { severity }) }, configured({ [channel]: wanted })),
          );
          expect(all).toEqual(expect.arrayContaining([...(critical ?? [])]));
        }
      }
    }
  });
});
