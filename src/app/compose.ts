import { operations as table } from "#contract/index.ts";
import { canHandler } from "#domain/access/can.ts";
import type { Probed, Prober } from "#domain/health/prober.ts";
import { createParts, type Part, type PartContext, type Parts } from "./part.ts";
import type { createAccessPart } from "./parts/access.ts";
import type { createAccountsPart } from "./parts/accounts.ts";
import type { createAlertsPart } from "./parts/alerts.ts";
import type { createApprovalsPart } from "./parts/approvals.ts";
import type { createAuditPart } from "./parts/audit.ts";
import type { createAutomaticPart } from "./parts/automatic-updates.ts";
import type { createConnectorsPart } from "./parts/connectors.ts";
import type { createDisksPart, createDiskUsagePart } from "./parts/disks.ts";
import { createExplainPart } from "./parts/explain.ts";
import type { createHealthPart } from "./parts/health.ts";
import type { createHostSettingsPart } from "./parts/host-settings.ts";
import type { createHttpPart, HttpPorts } from "./parts/http.ts";
import type { createLogsPart } from "./parts/logs.ts";
import type { createNetworkPart } from "./parts/network.ts";
import type { createOperationsPart } from "./parts/operations.ts";
import type { createPluginsPart } from "./parts/plugins.ts";
import type { createProcessesPart } from "./parts/processes.ts";
import type { createRebootPart } from "./parts/reboot.ts";
import type { createRunbooksPart } from "./parts/runbooks.ts";
import type { createSystemPart } from "./parts/system.ts";
import type { SystemMetricsPart } from "./parts/system-metrics.ts";
import type { createTracesPart } from "./parts/traces.ts";
import type { createPackagesPart, createUpdatesPart } from "./parts/updates.ts";
import type { WindowsPart } from "./parts/windows.ts";

export interface BackParts {
  readonly audit: ReturnType<typeof createAuditPart>;
  readonly windows: WindowsPart;
  readonly approvals: Part & ReturnType<typeof createApprovalsPart>;
  readonly access: Part & ReturnType<typeof createAccessPart>;
  readonly traces: Part & ReturnType<typeof createTracesPart>;
  readonly host?: Part;
  readonly system: ReturnType<typeof createSystemPart>;
  readonly systemMetrics: SystemMetricsPart;
  readonly processes: ReturnType<typeof createProcessesPart>;
  readonly accounts: ReturnType<typeof createAccountsPart>;
  readonly hostSettings: ReturnType<typeof createHostSettingsPart>;
  readonly disks: ReturnType<typeof createDisksPart>;
  readonly diskUsage: ReturnType<typeof createDiskUsagePart>;
  readonly network: ReturnType<typeof createNetworkPart>;
  readonly reboot: ReturnType<typeof createRebootPart>;
  readonly logs: ReturnType<typeof createLogsPart>;
  readonly operations: ReturnType<typeof createOperationsPart>;
  readonly packages: ReturnType<typeof createPackagesPart>;
  readonly updates: Part & ReturnType<typeof createUpdatesPart>;
  readonly connectors: ReturnType<typeof createConnectorsPart>;
  readonly health: ReturnType<typeof createHealthPart>;
  readonly runbooks: ReturnType<typeof createRunbooksPart>;
  readonly automatic: Part & ReturnType<typeof createAutomaticPart>;
  readonly plugins: ReturnType<typeof createPluginsPart>;
  readonly alerts: ReturnType<typeof createAlertsPart>;
}

type Http = ReturnType<typeof createHttpPart>;

/** Puts the parts together: their order, the handlers of all of them, and the server in front. */
export function composeService<H extends Http>(
  context: Pick<PartContext, "clock" | "log" | "metrics">,
  back: BackParts,
  front: {
    readonly prober: Prober;
    readonly http: (
      ports: Pick<HttpPorts, "access" | "audit" | "windows" | "approvals" | "handlers" | "streams" | "onClosing">,
    ) => H;
    readonly probes: (http: H) => Omit<Probed["probes"], "llm">;
  },
): { readonly http: H; readonly parts: Parts } {
  const { audit, access, approvals, traces, host = {}, system, systemMetrics, logs } = back;
  const { operations, updates, automatic, connectors, health, plugins, alerts } = back;
  const explain = createExplainPart({ ...context, ...back, units: system.units, chat: connectors.chat });
  // Started together; stopped and disposed of in reverse.
  const order = [
    ...[audit, access, traces, host, systemMetrics, logs, operations, updates],
    ...[connectors, health, plugins, alerts, automatic, approvals],
  ];
  const parts = createParts(context.log, order);
  operations.onEnded(alerts.events.operationEnded);
  plugins.onDisabled(alerts.events.pluginDisabled);
  approvals.onWanted(alerts.events.approvalWanted);
  access.keyring.onExpiredUse(alerts.events.expiredKeyUsed);
  audit.onBroken(alerts.events.auditBroken);
  const handlers = {
    ...health.handlers,
    ...back.runbooks.handlers,
    ...system.handlers,
    ...systemMetrics.handlers,
    ...back.processes.handlers,
    ...back.accounts.handlers,
    ...back.hostSettings.handlers,
    ...back.disks.handlers,
    ...back.diskUsage.handlers,
    ...back.network.handlers,
    ...back.reboot.handlers,
    ...back.windows.handlers,
    ...back.packages.handlers,
    ...updates.handlers,
    ...automatic.handlers,
    ...operations.handlers,
    ...connectors.handlers,
    ...plugins.handlers,
    ...explain.handlers,
    ...logs.handlers,
    ...access.handlers,
    ...access.sessionHandlers,
    ...access.passkeyHandlers,
    ...approvals.handlers,
    canI: canHandler({
      operations: table,
      windows: back.windows.gate,
      approvals: approvals.rules,
      budgetOf: access.budgetOf,
      fixes: health.fixes,
      hostName: access.hostName,
    }),
    ...audit.handlers,
    ...alerts.handlers,
    ...traces.handlers,
  };
  approvals.runsWith(handlers);
  const http = parts.add(
    front.http({
      access,
      audit,
      windows: back.windows.gate,
      approvals: approvals.gate,
      handlers,
      streams: { logs: logs.stream, health: health.stream, operations: operations.stream },
      onClosing: parts.stop,
    }),
  );
  const probes = { ...front.probes(http), llm: connectors.probe };
  const { prober } = front;
  const { log, metrics } = context;
  parts.add({
    start: () =>
      prober.start({
        probes,
        added: alerts.probes,
        onChange(component, result) {
          const { healthy, expected, reason } = result;
          alerts.probed(component, result);
          metrics.componentUp(component, healthy);
          if (healthy) log.info({ component }, "component healthy");
          else log[expected ? "warn" : "info"]({ component, reason }, "component unhealthy");
        },
      }),
    dispose: prober.dispose,
  });
  return { http, parts };
}
