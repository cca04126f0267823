import type { NotificationChannel, NotificationOutcome } from "#contract/alerts.ts";
import { createAlerts, type Evaluator, type Readings } from "#domain/alerts/alerts.ts";
import { alertHandlers } from "#domain/alerts/handlers.ts";
import type { AlertStore } from "#domain/alerts/ports.ts";
import { createSilences } from "#domain/alerts/silences.ts";
import type { ProbeResult } from "#domain/health/ports.ts";
import { createComponentWatch } from "#domain/notifications/components.ts";
import { notificationHandlers } from "#domain/notifications/handlers.ts";
import { alertDraft, componentDraft } from "#domain/notifications/messages.ts";
import { type Channels, createOutbox } from "#domain/notifications/outbox.ts";
import type { NotificationStore } from "#domain/notifications/ports.ts";
import { alertChannels, componentChannels } from "#domain/notifications/routing.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import type { Logger } from "#telemetry/logger.ts";

/** What alerts are made from and where they go. */
export interface AlertingParts {
  readonly alerts: AlertStore;
  readonly notifications: NotificationStore;
  readonly channels: Channels;
  readonly evaluator: Evaluator;
  readonly readings: Readings;
  /** Name of this host, for whoever is told. */
  readonly host: string;
}

export interface Alerting {
  readonly handlers: ReturnType<typeof alertHandlers> & ReturnType<typeof notificationHandlers>;
  /** Takes up what a probe of a component found. */
  readonly probed: (component: string, result: ProbeResult) => void;
  readonly start: () => void;
  readonly dispose: Dispose;
}

/** Says what is wrong once, and again when it is another thing: a full disk would be told of every few seconds. */
function createTrouble(log: Logger): (error: unknown) => void {
  let last = "";
  return (error) => {
    const text = String(error);
    if (text === last) return;
    last = text;
    log.error({ err: error }, "alerts disturbed");
  };
}

/** Alerts, what is told of components, and how it is told. */
export function createAlerting(ports: {
  readonly parts: AlertingParts;
  readonly components: readonly string[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly createId: () => string;
  readonly onNotification: (channel: NotificationChannel, outcome: NotificationOutcome) => void;
}): Alerting {
  const { parts, components, clock, log, createId, onNotification } = ports;
  const { channels, host } = parts;
  const onTrouble = createTrouble(log);

  const outbox = createOutbox({
    store: parts.notifications,
    channels,
    clock,
    createId,
    onEnd(channel, outcome, error) {
      onNotification(channel, outcome);
      if (outcome === "sent") log.info({ channel }, "notification sent");
      else log.warn({ channel, outcome, reason: error }, "notification not sent");
    },
    onTrouble,
  });
  const watch = createComponentWatch({
    components,
    store: parts.notifications,
    clock,
    tell: (news) => outbox.post(componentDraft(news, host, clock.now()), componentChannels),
    onTrouble,
  });
  const silences = createSilences({ store: parts.alerts, clock, createId, onTrouble });
  const alerts = createAlerts({
    evaluator: parts.evaluator,
    readings: parts.readings,
    store: parts.alerts,
    isSilenced: silences.isSilenced,
    clock,
    tell({ what, condition, value, since }) {
      const { name, severity } = condition;
      log[what === "resolved" ? "info" : "warn"]({ alert: name, severity, what, value: value ?? null }, "alert");
      const draft = alertDraft({ ...condition, what, value, since }, host, clock.now());
      outbox.post(
        draft,
        alertChannels(severity, (channel) => channels.has(channel)),
      );
    },
    onTrouble,
  });

  let isOver = false;
  return {
    handlers: {
      ...alertHandlers({ alerts, silences, clock }),
      ...notificationHandlers({ outbox, channels, host, clock }),
    },
    probed(component, result) {
      // While the service stops, its own address does not answer: that is no news.
      if (!isOver) watch.probed(component, result);
    },
    start() {
      outbox.start();
      watch.start();
      alerts.start();
    },
    dispose() {
      isOver = true;
      alerts.dispose();
      watch.dispose();
      outbox.dispose();
    },
  };
}
