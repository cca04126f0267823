import type { alerts, Notification, NotificationChannel, NotificationTest } from "#contract/alerts.ts";
import { notificationChannels, notificationListLimit } from "#contract/alerts.ts";
import type { Handlers } from "#contract/operation.ts";
import { invalid } from "#domain/common/error.ts";
import { pageOf } from "#domain/common/page.ts";
import { createPlan } from "#domain/common/plan.ts";
import type { StoredNotification } from "#domain/ports/notifications.ts";
import { type Clock, toNullableTimestamp, toTimestamp } from "#kernel/clock.ts";
import { testDraft } from "./messages.ts";
import type { Channels, Outbox } from "./outbox.ts";

const toNotification = (notification: StoredNotification): Notification => ({
  id: notification.id,
  kind: notification.kind,
  subject: notification.subject,
  title: notification.message.title,
  channel: notification.channel,
  to: [...notification.to],
  created_at: toTimestamp(notification.message.at),
  attempts: notification.attempts,
  outcome: notification.outcome,
  error: notification.error,
  ended_at: toNullableTimestamp(notification.endedAt),
});

function toTest(sent: readonly StoredNotification[]): NotificationTest {
  const results = sent.map(({ channel, to, outcome, error }) => ({
    channel,
    to: [...to],
    success: outcome === "sent",
    message: error ?? "sent",
  }));
  const failed = results.filter(({ success }) => !success).map(({ channel }) => channel);
  if (results.length === 0)
    return { success: false, message: "no channel is configured: see `notifications` in the settings", results };
  return {
    success: failed.length === 0,
    message: failed.length === 0 ? "sent" : `not taken by ${failed.join(", ")}`,
    results,
  };
}

export function notificationHandlers(ports: {
  readonly outbox: Pick<Outbox, "list" | "sendNow">;
  readonly channels: Channels;
  readonly host: string;
  readonly clock: Pick<Clock, "now">;
}): Pick<Handlers<typeof alerts>, "listNotifications" | "testNotifications"> {
  const { outbox, channels, host, clock } = ports;

  const wanted = (channel: NotificationChannel | undefined): readonly NotificationChannel[] => {
    if (channel === undefined) return notificationChannels.filter((each) => channels.has(each));
    if (!channels.has(channel)) throw invalid("channel", "is not configured", `cannot test ${channel}: not configured`);
    return [channel];
  };

  return {
    listNotifications({ query }) {
      const { limit = notificationListLimit.default, cursor } = query;
      const { items, shape } = pageOf(outbox.list(), { limit, cursor }, ({ id, channel }) => `${id} ${channel}`);
      return { notifications: items.map(toNotification), ...shape };
    },

    async testNotifications({ body, query }, context) {
      const to = wanted(body?.channel);
      if (query.dry_run)
        return createPlan(
          to.map((channel) => `send a test notification to ${channel}`),
          to.length === 0 ? { reason: "no channel is configured" } : {},
        );
      context.touched({ channels: to.join(" ") });
      return toTest(await outbox.sendNow(testDraft(host, context.caller?.keyName, clock.now()), to, context.signal()));
    },
  };
}
