import { hostname } from "node:os";
import { openAlertStore } from "#adapters/alert-store/index.ts";
import { createCalendar } from "#adapters/calendar/index.ts";
import { createComponentProbe } from "#adapters/component-probe/index.ts";
import { createEmailNotifier } from "#adapters/notifier/email.ts";
import { createHttpNotifier } from "#adapters/notifier/http.ts";
import { httpService } from "#adapters/notifier/services.ts";
import { logSetAside, type PartContext } from "#app/part.ts";
import { digestCalendar, notificationTargets, notifyFrom, reportedEvents } from "#config/notifications.ts";
import { alertEvaluator, probeTargets } from "#config/probes.ts";
import type { Settings } from "#config/settings.ts";
import type { NotificationChannel, NotificationEvent, NotifyLevel } from "#contract/alerts.ts";
import { componentNames } from "#contract/health.ts";
import type { WindowGate } from "#domain/access/window-gate.ts";
import { createAlerts, type Evaluator, type Readings } from "#domain/alerts/alerts.ts";
import { alertHandlers } from "#domain/alerts/handlers.ts";
import { createSilences } from "#domain/alerts/silences.ts";
import type { CheckRunner } from "#domain/health/runner.ts";
import { type CheckRunNews, createCheckWatch } from "#domain/notifications/checks.ts";
import { createComponentWatch } from "#domain/notifications/components.ts";
import { createDigest } from "#domain/notifications/digest.ts";
import { createEvents } from "#domain/notifications/events.ts";
import { notificationHandlers } from "#domain/notifications/handlers.ts";
import {
  alertChannels,
  alertDraft,
  checkDraft,
  componentChannels,
  componentDraft,
} from "#domain/notifications/messages.ts";
import { type Channels, createOutbox, type Outbox } from "#domain/notifications/outbox.ts";
import type { AlertStore } from "#domain/ports/alerts.ts";
import type { Calendar } from "#domain/ports/calendar.ts";
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

type AlertsPorts = Pick<PartContext, "clock" | "log" | "metrics" | "createId"> & {
  readonly alerts: AlertStore;
  readonly notifications: NotificationStore;
  readonly channels: Channels;
  readonly evaluator: Evaluator;
  readonly readings: Readings;
  readonly notifyFrom: (checkId: string) => NotifyLevel;
  /** Times of the digest; undefined without one. */
  readonly digest: Calendar | undefined;
  readonly isReported: (event: NotificationEvent) => boolean;
  readonly health: {
    readonly onRun: (listener: (run: CheckRunNews) => void) => void;
    readonly onGone: (listener: (checkId: string) => void) => void;
    /** When the checks of all plugins are there. */
    readonly checksReady: Promise<void>;
    readonly runner: Pick<CheckRunner, "ids" | "list">;
  };
  readonly host: string;
  /** Where clients reach the service behind a reverse proxy. */
  readonly publicUrl?: string | undefined;
  readonly windows: Pick<WindowGate, "isSilent" | "silent">;
  readonly probes: Readonly<Record<string, Probe>>;
};

interface Telling {
  readonly outbox: Outbox;
  readonly has: (channel: NotificationChannel) => boolean;
  readonly onTrouble: (error: unknown) => void;
}

function createTelling({ notifications, channels, clock, createId, host, log, metrics }: AlertsPorts): Telling {
  const onTrouble = createTrouble(log);
  const outbox = createOutbox({
    store: notifications,
    channels,
    clock,
    createId,
    host,
    onEnd(channel, outcome, error) {
      metrics.notification(channel, outcome);
      if (outcome === "sent") log.info({ channel }, "notification sent");
      else log.warn({ channel, outcome, reason: error }, "notification not sent");
    },
    onTrouble,
  });
  return { outbox, has: (channel) => channels.has(channel), onTrouble };
}

/** What watches components, checks and readings, and tells what has changed. */
function createWatches(ports: AlertsPorts, { outbox, has, onTrouble }: Telling) {
  const { clock, log, createId, notifications, evaluator, readings, host, probes, windows, alerts: alertStore } = ports;
  const components = createComponentWatch({
    components: [...componentNames, ...Object.keys(probes)],
    store: notifications,
    clock,
    tell: (news) => outbox.post(componentDraft(news, host, clock.now()), componentChannels),
    onTrouble,
  });
  const silences = createSilences({ store: alertStore, clock, createId, onTrouble });
  const checks = createCheckWatch({
    store: notifications,
    clock,
    notifyFrom: ports.notifyFrom,
    isSilenced: (check) => windows.isSilent() || silences.isSilenced({ check }),
    tell(news) {
      const draft = checkDraft(news, host, clock.now());
      outbox.post(draft, alertChannels(draft.severity, has));
    },
    onTrouble,
  });
  const alerts = createAlerts({
    evaluator,
    readings,
    store: alertStore,
    isSilenced: (alert) => windows.isSilent() || silences.isSilenced({ alert }),
    clock,
    tell({ what, condition, value, since }) {
      const { name, severity } = condition;
      log[what === "resolved" ? "info" : "warn"]({ alert: name, severity, what, value: value ?? null }, "alert");
      const draft = alertDraft({ ...condition, what, value, since }, host, clock.now());
      outbox.post(draft, alertChannels(severity, has));
    },
    onTrouble,
  });
  return { components, silences, checks, alerts };
}

export function createAlertsPart(ports: AlertsPorts) {
  const { clock, channels, host, probes, health, windows } = ports;
  const telling = createTelling(ports);
  const { outbox, has, onTrouble } = telling;
  const { components, silences, checks, alerts } = createWatches(ports, telling);
  const events = createEvents({
    ...{ outbox, has, host, clock },
    isReported: ports.isReported,
    publicUrl: ports.publicUrl,
  });
  const digest =
    ports.digest &&
    createDigest({
      calendar: ports.digest,
      clock,
      host,
      list: outbox.list,
      read: async () => ({ checks: (await health.runner.list()).results, alerts: alerts.list() }),
      post: (draft) => outbox.post(draft, alertChannels("warning", has)),
      onTrouble,
    });
  let isOver = false;
  health.onRun((run) => {
    if (!isOver) checks.ran(run);
  });
  health.onGone((checkId) => {
    if (!isOver) checks.gone(checkId);
  });
  const silentWindows = () =>
    windows.silent().map(({ plan: { name }, phase: { openedAt = clock.now(), knownUntil: until } }) => {
      return { name, openedAt, until };
    });
  return {
    probes,
    handlers: {
      ...alertHandlers({ alerts, silences, clock, checkIds: () => health.runner.ids, silentWindows }),
      ...notificationHandlers({ outbox, channels, host, clock }),
    },
    post: outbox.post,
    events,
    probed: (component: string, result: ProbeResult): void => {
      // While the service stops its own address does not answer.
      if (!isOver) components.probed(component, result);
    },
    start(): void {
      outbox.start();
      components.start();
      alerts.start();
      digest?.start();
      void health.checksReady.then(() => {
        if (!isOver) checks.reconcile(health.runner.ids);
      });
    },
    stop(): void {
      isOver = true;
      digest?.dispose();
      alerts.dispose();
      components.dispose();
      outbox.dispose();
    },
  };
}

function channelsOf(settings: Settings, host: string): Channels {
  const { http, email } = notificationTargets(settings);
  return new Map([
    ...http.map(({ channel, severity, target }) => {
      const service = httpService(target, host);
      return [channel, createHttpNotifier({ service, severity })] as const;
    }),
    ...email.map(({ channel, settings: mail }) => [channel, createEmailNotifier({ settings: mail })] as const),
  ]);
}

export function buildAlertsPart(
  context: PartContext,
  { facts, systemd, health, windows }: Pick<BuiltHost, "facts" | "systemd"> & Pick<AlertsPorts, "health" | "windows">,
) {
  const { config, log } = context;
  const { settings, stateDir } = config;
  const host = hostname();
  const digestTimes = digestCalendar(settings);
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
      channels: channelsOf(settings, host),
      evaluator: alertEvaluator(settings),
      readings: {
        cpu_percent: facts.cpuPercent,
        memory_percent: () => Promise.resolve(facts.memoryPercent()),
        root_filesystem_percent: facts.diskPercent,
      },
      notifyFrom: notifyFrom(settings),
      isReported: reportedEvents(settings),
      digest: digestTimes && createCalendar(digestTimes),
      publicUrl: config.publicAddress?.url,
      health,
      windows,
      host,
      probes: Object.fromEntries(probes),
    }),
    dispose: store.dispose,
  };
}
