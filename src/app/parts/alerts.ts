import { openAlertStore } from "#adapters/alert-store/index.ts";
import { createCalendar } from "#adapters/calendar/index.ts";
import { createComponentProbe } from "#adapters/component-probe/index.ts";
import { createEmailNotifier } from "#adapters/notifier/email.ts";
import { createHttpNotifier } from "#adapters/notifier/http.ts";
import { httpService } from "#adapters/notifier/services.ts";
import { type PartContext, storeOptions } from "#app/part.ts";
import { digestCalendar, notificationTargets, notifyFrom, reportedEvents } from "#config/notifications.ts";
import { alertEvaluator, probeTargets } from "#config/probes.ts";
import type { Settings } from "#config/settings.ts";
import type { NotificationChannel, NotificationEvent, NotifyLevel } from "#contract/alerts.ts";
import { componentNames } from "#contract/health.ts";
import type { Keyring } from "#domain/access/keyring.ts";
import { createAlerts, type Evaluator, type Readings } from "#domain/alerts/alerts.ts";
import { alertHandlers } from "#domain/alerts/handlers.ts";
import { createSilences } from "#domain/alerts/silences.ts";
import { createCheckWatch } from "#domain/notifications/checks.ts";
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
import type { NotificationStore } from "#domain/ports/notifications.ts";
import type { Probe, ProbeResult } from "#domain/ports/probe.ts";
import type { Calendar } from "#kernel/clock.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { AuditPart } from "./audit.ts";
import type { ApprovalsPart, WindowsPart } from "./gates.ts";
import type { HealthPart } from "./health.ts";
import type { HostPart } from "./host.ts";
import type { OperationsPart } from "./operations.ts";
import type { PluginsPart } from "./plugins.ts";

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

interface Earlier {
  readonly host: Pick<HostPart, "open">;
  readonly health: Pick<HealthPart, "onRun" | "onGone" | "checksReady" | "runner">;
  readonly windows: Pick<WindowsPart, "gate">;
  readonly operations: Pick<OperationsPart, "onEnded">;
  readonly plugins: Pick<PluginsPart, "onDisabled">;
  readonly approvals: Pick<ApprovalsPart, "onWanted">;
  readonly access: { readonly keyring: Pick<Keyring, "onExpiredUse"> };
  readonly audit: Pick<AuditPart, "onBroken">;
}

interface AlertAdapters {
  readonly alerts: AlertStore;
  readonly notifications: NotificationStore;
  readonly channels: Channels;
  readonly evaluator: Evaluator;
  readonly readings: Readings;
  readonly notifyFrom: (checkId: string) => NotifyLevel;
  /** Times of the digest; undefined without one. */
  readonly digest: Calendar | undefined;
  readonly isReported: (event: NotificationEvent) => boolean;
  readonly probes: Readonly<Record<string, Probe>>;
  readonly dispose?: () => void;
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

function openAlerts(context: PartContext, { host }: Pick<Earlier, "host">): AlertAdapters {
  const { settings } = context.config;
  const { facts, systemd } = host.open();
  const { alerts, notifications, dispose } = openAlertStore(storeOptions(context, "records of alerts corrupt, reset"));
  const probes = probeTargets(settings).map(({ name, target }): [string, Probe] => [
    name,
    createComponentProbe({ target, readUnit: systemd.units.read }),
  ]);
  const digestTimes = digestCalendar(settings);
  return {
    alerts,
    notifications,
    channels: channelsOf(settings, context.hostName()),
    evaluator: alertEvaluator(settings),
    readings: {
      cpu_percent: facts.cpuPercent,
      memory_percent: () => Promise.resolve(facts.memoryPercent()),
      root_filesystem_percent: facts.diskPercent,
    },
    notifyFrom: notifyFrom(settings),
    isReported: reportedEvents(settings),
    digest: digestTimes && createCalendar(digestTimes),
    probes: Object.fromEntries(probes),
    dispose,
  };
}

interface AlertNotifier {
  readonly outbox: Outbox;
  readonly has: (channel: NotificationChannel) => boolean;
  readonly onTrouble: (error: unknown) => void;
}

function createAlertNotifier(
  { clock, createId, hostName, log, metrics }: PartContext,
  { notifications, channels }: AlertAdapters,
): AlertNotifier {
  const onTrouble = createTrouble(log);
  const outbox = createOutbox({
    store: notifications,
    channels,
    clock,
    createId,
    host: hostName(),
    onEnd(channel, outcome, error) {
      metrics.notification(channel, outcome);
      if (outcome === "sent") log.info({ channel }, "notification sent");
      else log.warn({ channel, outcome, reason: error }, "cannot send a notification");
    },
    onTrouble,
  });
  return { outbox, has: (channel) => channels.has(channel), onTrouble };
}

/** What watches components, checks and readings, and reports what has changed. */
function createWatches(
  { clock, log, createId, hostName }: PartContext,
  { gate }: Pick<WindowsPart, "gate">,
  adapters: AlertAdapters,
  { outbox, has, onTrouble }: AlertNotifier,
) {
  const { notifications, evaluator, readings, probes, alerts: alertStore } = adapters;
  const host = hostName();
  const components = createComponentWatch({
    components: [...componentNames, ...Object.keys(probes)],
    store: notifications,
    clock,
    notify: (event) => outbox.post(componentDraft(event, host, clock.now()), componentChannels),
    onTrouble,
  });
  const silences = createSilences({ store: alertStore, clock, createId, onTrouble });
  const checks = createCheckWatch({
    store: notifications,
    clock,
    notifyFrom: adapters.notifyFrom,
    isSilenced: (check) => gate.isSilent() || silences.isSilenced({ check }),
    notify(event) {
      const draft = checkDraft(event, host, clock.now());
      outbox.post(draft, alertChannels(draft.severity, has));
    },
    onTrouble,
  });
  const alerts = createAlerts({
    evaluator,
    readings,
    store: alertStore,
    isSilenced: (alert) => gate.isSilent() || silences.isSilenced({ alert }),
    clock,
    notify({ what, condition, value, since }) {
      const { name, severity } = condition;
      log[what === "resolved" ? "info" : "warn"]({ alert: name, severity, what, value: value ?? null }, "alert");
      const draft = alertDraft({ ...condition, what, value, since }, host, clock.now());
      outbox.post(draft, alertChannels(severity, has));
    },
    onTrouble,
  });
  return { components, silences, checks, alerts };
}

/** Watches components, checks and readings, and notifies people of what has changed and happened. */
export function alertsPart(context: PartContext, earlier: Earlier, adapters = openAlerts(context, earlier)) {
  const { config, clock, hostName } = context;
  const { health, windows } = earlier;
  const { channels, probes, dispose } = adapters;
  const host = hostName();
  const notifying = createAlertNotifier(context, adapters);
  const { outbox, has, onTrouble } = notifying;
  const { components, silences, checks, alerts } = createWatches(context, windows, adapters, notifying);
  const events = createEvents({
    ...{ outbox, has, host, clock },
    isReported: adapters.isReported,
    publicUrl: config.publicAddress?.url,
  });
  earlier.operations.onEnded(events.operationEnded);
  earlier.plugins.onDisabled(events.pluginDisabled);
  earlier.approvals.onWanted(events.approvalWanted);
  earlier.access.keyring.onExpiredUse(events.expiredKeyUsed);
  earlier.audit.onBroken(events.auditBroken);
  const digest =
    adapters.digest &&
    createDigest({
      calendar: adapters.digest,
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
    windows.gate.silent().map(({ plan: { name }, phase: { openedAt = clock.now(), knownUntil: until } }) => {
      return { name, openedAt, until };
    });
  return {
    probes,
    handlers: {
      ...alertHandlers({ alerts, silences, clock, checkIds: () => health.runner.ids, silentWindows }),
      ...notificationHandlers({ outbox, channels, host, clock }),
    },
    post: outbox.post,
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
    dispose: () => dispose?.(),
  };
}

export type AlertsPart = ReturnType<typeof alertsPart>;
