import { probeIntervalMs } from "#contract/limits.ts";
import { allows } from "#domain/access/scopes.ts";
import { createTokenBudgets } from "#domain/connectors/budget.ts";
import { createChat } from "#domain/connectors/chat.ts";
import { type Connectors, createConnectors } from "#domain/connectors/connectors.ts";
import type { ConnectorDiscovery, ConnectorPlan } from "#domain/connectors/ports.ts";
import type { ProbeResult } from "#domain/health/ports.ts";
import type { Dispose } from "#kernel/clock.ts";
import type { ServicePorts } from "./ports.ts";

/** How long who asks for the health waits for the first answer of a model. */
const firstAnswerMs = 1_000;

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
  onDefault: () => Promise<void> | undefined,
) {
  const { clock, log, metrics } = ports;
  const connectorsTrouble = (error: unknown): void => log.error({ err: error }, "connectors disturbed");
  const connectors = createConnectors({
    load: ports.loadConnectors,
    clock,
    onChange({ connector, status, reason }) {
      if (status === "connected") log.info({ connector }, "connector answers");
      else log.warn({ connector, status, reason }, "connector does not answer");
      void onDefault();
    },
    onTrouble: connectorsTrouble,
  });
  let stopConnectors: Dispose | undefined;
  let isAsked = false;
  const asked = Promise.withResolvers<void>();
  const firstWithin = async (answer: Promise<void>): Promise<void> => {
    const over = new AbortController();
    const waited = clock.sleep(firstAnswerMs, over.signal).catch(() => undefined);
    await Promise.race([answer, waited]);
    over.abort();
  };
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
      const probeConnectors = (): Promise<void> => connectors.probe().then(onDefault).catch(connectorsTrouble);
      stopConnectors = clock.every(probeIntervalMs, () => void probeConnectors());
      void probeConnectors().finally(() => {
        isAsked = true;
        asked.resolve();
      });
    },
    /**
     * Waits until the providers have been asked for the first time, but not for one that keeps silent.
     * @returns undefined when they have been.
     */
    firstAnswer: (): Promise<void> | undefined => (isAsked ? undefined : firstWithin(asked.promise)),
    dispose(): void {
      stopConnectors?.();
      connectors.dispose();
    },
  };
}
