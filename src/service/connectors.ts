import { probeIntervalMs } from "#contract/limits.ts";
import { allows } from "#domain/access/scopes.ts";
import { createTokenBudgets } from "#domain/connectors/budget.ts";
import { createChat } from "#domain/connectors/chat.ts";
import { type Connectors, createConnectors } from "#domain/connectors/connectors.ts";
import type { ConnectorDiscovery, ConnectorPlan } from "#domain/connectors/ports.ts";
import type { ProbeResult } from "#domain/health/ports.ts";
import type { Dispose } from "#kernel/clock.ts";
import type { ServicePorts } from "./ports.ts";

/** How the default connector is. One that is not configured is not missed. */
function defaultConnector(connectors: Pick<Connectors, "defaultState">): ProbeResult {
  const { name, status, reason } = connectors.defaultState();
  if (name === null)
    return { healthy: false, expected: false, reason: "there is no connector, or none was looked for yet" };
  if (status === "connected") return { healthy: true, expected: true };
  const isExpected = status !== undefined && status !== "not_configured";
  return { healthy: false, expected: isExpected, reason: `connector ${name}: ${reason ?? "not asked yet"}` };
}

/**
 * The connectors, and chats by way of them.
 * @param onDefault what is found of the default connector shows in the health status at once, not at the next probe.
 */
export function createConnectorParts(
  ports: Pick<ServicePorts, "clock" | "loadConnectors" | "log" | "metrics" | "tokenLedger">,
  onDefault: () => void,
) {
  const { clock, log, metrics } = ports;
  const connectorsTrouble = (error: unknown): void => log.error({ err: error }, "connectors disturbed");
  const connectors = createConnectors({
    load: ports.loadConnectors,
    clock,
    onChange({ connector, status, reason }) {
      if (status === "connected") log.info({ connector }, "connector answers");
      else log.warn({ connector, status, reason }, "connector does not answer");
      onDefault();
    },
    onTrouble: connectorsTrouble,
  });
  let stopConnectors: Dispose | undefined;
  const chat = createChat({
    connectors,
    budgets: createTokenBudgets({
      ledger: ports.tokenLedger,
      clock,
      onTrouble: (error) => log.error({ err: error }, "used tokens not written"),
    }),
    clock,
    covers: ({ scopes }, connector) => allows(scopes, "connectors:chat", connector),
    onCall({ connector, result, durationMs, usage }) {
      const tokens = usage && { input: usage.input_tokens, output: usage.output_tokens };
      metrics.modelCall({ connector, result, seconds: durationMs / 1000, tokens });
    },
  });
  return {
    connectors,
    chat,
    probe: () => Promise.resolve(defaultConnector(connectors)),
    replace: (plan: ConnectorPlan, discovery: ConnectorDiscovery | undefined): void =>
      void connectors.replace(plan, discovery).then(onDefault, connectorsTrouble),
    /** Asks the providers, now and again. */
    start(): void {
      const probeConnectors = (): void => void connectors.probe().then(onDefault, connectorsTrouble);
      stopConnectors = clock.every(probeIntervalMs, probeConnectors);
      probeConnectors();
    },
    dispose(): void {
      stopConnectors?.();
      connectors.dispose();
    },
  };
}
