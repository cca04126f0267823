import { hostname } from "node:os";
import { openAlertStore } from "#adapters/alert-store/index.ts";
import { createComponentProbe } from "#adapters/component-probe/index.ts";
import { createChatNotifier, createEmailNotifier } from "#adapters/notifier/index.ts";
import type { ProcHostFacts } from "#adapters/procfs/index.ts";
import type { HostUnits } from "#adapters/systemd/index.ts";
import type { Config } from "#config/load.ts";
import { notificationTargets } from "#config/notifications.ts";
import { alertEvaluator, probeTargets } from "#config/probes.ts";
import type { Probe } from "#domain/health/ports.ts";
import type { Channels } from "#domain/notifications/outbox.ts";
import type { Dispose } from "#kernel/clock.ts";
import type { AlertingParts } from "#service/alerting.ts";

/** What is watched on this host besides the service itself, and who is told. */
export interface HostAlerting {
  readonly parts: AlertingParts;
  /** Probes of the components that settings add, by name. */
  readonly probes: Readonly<Record<string, Probe>>;
  readonly dispose: Dispose;
}

function channelsOf({ settings }: Config): Channels {
  const { chat, email } = notificationTargets(settings);
  return new Map([
    ...chat.map(({ channel, webhookFile }) => [channel, createChatNotifier({ webhookFile })] as const),
    ...email.map(({ channel, settings: mail }) => [channel, createEmailNotifier({ settings: mail })] as const),
  ]);
}

/** Picks what alerts are made from, where they go, and how components of the settings are looked at. */
export function createHostAlerting(ports: {
  readonly config: Config;
  readonly host: Pick<ProcHostFacts, "cpuLoad" | "memoryPercent" | "diskPercent">;
  readonly units: Pick<HostUnits["units"], "read">;
  readonly onTrouble: (error: Error, aside?: string) => void;
}): HostAlerting {
  const { config, host, units, onTrouble } = ports;
  const { settings, stateDir } = config;
  const store = openAlertStore({ stateDir, onTrouble });
  const probes = probeTargets(settings).map(({ name, target }): [string, Probe] => [
    name,
    createComponentProbe({ target, readUnit: units.read }),
  ]);
  return {
    parts: {
      alerts: store.alerts,
      notifications: store.notifications,
      channels: channelsOf(config),
      evaluator: alertEvaluator(settings),
      readings: {
        cpu_percent: host.cpuLoad.minutePercent,
        memory_percent: () => Promise.resolve(host.memoryPercent()),
        root_filesystem_percent: host.diskPercent,
      },
      host: hostname(),
    },
    probes: Object.fromEntries(probes),
    dispose: store.dispose,
  };
}
