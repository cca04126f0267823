import { hostname } from "node:os";
import { openAlertStore } from "#adapters/alert-store/index.ts";
import { createComponentProbe } from "#adapters/component-probe/index.ts";
import { createChatNotifier, createEmailNotifier } from "#adapters/notifier/index.ts";
import { logSetAside, type PartContext } from "#app/part.ts";
import { notificationTargets } from "#config/notifications.ts";
import { alertEvaluator, probeTargets } from "#config/probes.ts";
import type { Settings } from "#config/settings.ts";
import { componentNames } from "#contract/health.ts";
import { createAlerts, type Evaluator, type Readings } from "#domain/alerts/alerts.ts";
import { alertHandlers } from "#domain/alerts/handlers.ts";
import { createSilences } from "#domain/alerts/silences.ts";
import { createComponentWatch } from "#domain/notifications/components.ts";
import { notificationHandlers } from "#domain/notifications/handlers.ts";
import { alertChannels, alertDraft, componentChannels, componentDraft } from "#domain/notifications/messages.ts";
import { type Channels, createOutbox } from "#domain/notifications/outbox.ts";
import type { AlertStore } from "#domain/ports/alerts.ts";
import type { NotificationStore } from "#domain/ports/notifications.ts";
import type { Probe, ProbeResult } from "#domain/ports/probe.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { BuiltHost } from "./system.ts";

/** Logs an error once until it changes: a full disk fails every few seconds. */
function createTrouble(log: Logger): (error: unknown) => void {
  let last = "";
  return (error) => {
    const text = String(error);
    if (text === last) return;
    last = text;
    log.error({ err: error }, "evaluation of alerts failed");
  };
}

export function createAlertsPart(
  ports: Pick<PartContext, "clock" | "log" | "metrics" | "createId"> & {
    readonly alerts: AlertStore;
    readonly notifications: NotificationStore;
    readonly channels: Channels;
    readonly evaluator: Evaluator;
    readonly readings: Readings;
    readonly host: string;
    readonly probes: Readonly<Record<string, Probe>>;
  },
) {
  const { clock, log, metrics, createId, notifications, channels, evaluator, readings, host, probes } = ports;
  const { alerts: alertStore } = ports;
  const components = [...componentNames, ...Object.keys(probes)];
  const onTrouble = createTrouble(log);

  const outbox = createOutbox({
    store: notifications,
    channels,
    clock,
    createId,
    onEnd(channel, outcome, error) {
      metrics.notification(channel, outcome);
      if (outcome === "sent") log.info({ channel }, "notification sent");
      else log.warn({ channel, outcome, reason: error }, "notification not sent");
    },
    onTrouble,
  });
  const watch = createComponentWatch({
    components,
    store: notifications,
    clock,
    tell: (news) => outbox.post(componentDraft(news, host, clock.now()), componentChannels),
    onTrouble,
  });
  const silences = createSilences({ store: alertStore, clock, createId, onTrouble });
  const alerts = createAlerts({
    evaluator,
    readings,
    store: alertStore,
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
    probes,
    handlers: {
      ...alertHandlers({ alerts, silences, clock }),
      ...notificationHandlers({ outbox, channels, host, clock }),
    },
    post: outbox.post,
    probed: (component: string, result: ProbeResult): void => {
      // While the service stops its own address does not answer.
      if (!isOver) watch.probed(component, result);
    },
    start(): void {
      outbox.start();
      watch.start();
      alerts.start();
    },
    stop(): void {
      isOver = true;
      alerts.dispose();
      watch.dispose();
      outbox.dispose();
    },
  };
}

function channelsOf(settings: Settings): Channels {
  const { chat, email } = notificationTargets(settings);
  return new Map([
    ...chat.map(({ channel, webhookFile }) => [channel, createChatNotifier({ webhookFile })] as const),
    ...email.map(({ channel, settings: mail }) => [channel, createEmailNotifier({ settings: mail })] as const),
  ]);
}

export function buildAlertsPart(context: PartContext, { facts, systemd }: Pick<BuiltHost, "facts" | "systemd">) {
  const { config, log } = context;
  const { settings, stateDir } = config;
  const store = openAlertStore({
    stateDir,
    onTrouble: logSetAside(log, "records of alerts corrupt, reset"),
  });
  const probes = probeTargets(settings).map(({ name, target }): [string, Probe] => [
    name,
    createComponentProbe({ target, readUnit: systemd.units.read }),
  ]);
  return {
    ...createAlertsPart({
      ...context,
      alerts: store.alerts,
      notifications: store.notifications,
      channels: channelsOf(settings),
      evaluator: alertEvaluator(settings),
      readings: {
        cpu_percent: facts.cpuPercent,
        memory_percent: () => Promise.resolve(facts.memoryPercent()),
        root_filesystem_percent: facts.diskPercent,
      },
      host: hostname(),
      probes: Object.fromEntries(probes),
    }),
    dispose: store.dispose,
  };
}
