import { createDiscovery } from "#adapters/llm/discovery.ts";
import { createConnectorPlan } from "#adapters/llm/plan.ts";
import { openTokenLedger } from "#adapters/token-ledger/index.ts";
import { logSetAside, type PartContext } from "#app/part.ts";
import type { TracedParts } from "#app/tracing/tracing.ts";
import { connectorSettings } from "#config/connectors.ts";
import type { Config } from "#config/load.ts";
import { probeIntervalMs } from "#contract/limits.ts";
import { scopeLack } from "#domain/access/needs.ts";
import { allows } from "#domain/access/scopes.ts";
import { createTokenBudgets } from "#domain/connectors/budget.ts";
import { createChat } from "#domain/connectors/chat.ts";
import { createConnectors, defaultConnectorHealth } from "#domain/connectors/connectors.ts";
import { connectorHandlers } from "#domain/connectors/handlers.ts";
import type { Prober } from "#domain/health/prober.ts";
import type { ConnectorDiscovery, ConnectorPlan, TokenLedger } from "#domain/ports/connectors.ts";
import type { Probe } from "#domain/ports/probe.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";

const firstAnswerMs = 1_000;

async function within(clock: Pick<Clock, "sleep">, ms: number, answer: Promise<void>): Promise<void> {
  const over = new AbortController();
  await Promise.race([answer, clock.sleep(ms, over.signal).catch(() => undefined)]);
  over.abort();
}

export interface FoundConnectors {
  readonly plan: ConnectorPlan;
  readonly discovery: ConnectorDiscovery | undefined;
}

export function createConnectorsPart(
  ports: Pick<PartContext, "clock" | "log" | "metrics"> & {
    readonly load: () => Promise<FoundConnectors>;
    readonly ledger: TokenLedger;
    readonly prober: Pick<Prober, "probeNow">;
  },
) {
  const { clock, log, metrics, prober } = ports;
  const onTrouble = (error: unknown): void => log.error({ err: error }, "cannot read connectors or write token usage");
  // The health status shows the state of the default connector at once, not at the next probe.
  const onDefault = (): Promise<void> => prober.probeNow("llm");
  const connectors = createConnectors({
    load: ports.load,
    clock,
    onChange({ connector, status, reason }) {
      if (status === "connected") log.info({ connector }, "connector answers");
      else log.warn({ connector, status, reason }, "connector does not answer");
      void onDefault();
    },
    onTrouble,
  });
  const chat = createChat({
    connectors,
    budgets: createTokenBudgets({
      ledger: ports.ledger,
      clock,
      onTrouble: (error) => log.error({ err: error }, "cannot write token usage"),
    }),
    clock,
    covers: ({ scopes }, connector) => allows(scopes, "connectors:chat", connector),
    lackOf: scopeLack,
    onCall({ connector, result, durationMs, usage }) {
      const tokens = usage && { input: usage.input_tokens, output: usage.output_tokens };
      metrics.modelCall({ connector, result, seconds: durationMs / 1000, tokens });
    },
  });
  const probe: Probe = () => Promise.resolve(defaultConnectorHealth(connectors.defaultState()));
  const askAll = (): Promise<void> => connectors.probe().then(onDefault).catch(onTrouble);
  const asked = Promise.withResolvers<void>();
  let isAsked = false;
  let stopAsking: Dispose | undefined;
  return {
    handlers: connectorHandlers({ connectors, chat }),
    chat,
    probe,
    replace: ({ plan, discovery }: FoundConnectors): void =>
      void connectors.replace(plan, discovery).then(onDefault, onTrouble),
    async ready(): Promise<void> {
      stopAsking = clock.every(probeIntervalMs, () => void askAll());
      await askAll();
      isAsked = true;
      asked.resolve();
    },
    /** Waits a moment until the providers have answered for the first time; undefined when they have. */
    firstAnswer: (): Promise<void> | undefined => (isAsked ? undefined : within(clock, firstAnswerMs, asked.promise)),
    stop(): void {
      stopAsking?.();
      connectors.dispose();
    },
  };
}

export function buildConnectorsPart(
  context: PartContext,
  { traced, prober }: { readonly traced: TracedParts; readonly prober: Pick<Prober, "probeNow"> },
) {
  const { config, log } = context;
  const load = ({ settings }: Pick<Config, "settings">) => {
    const described = connectorSettings(settings);
    return traced.connectorsOf({
      plan: createConnectorPlan(described, process.env, traced.requestOptions),
      discovery: createDiscovery(described, process.env, traced.requestOptions),
    });
  };
  const ledger = openTokenLedger({
    stateDir: config.stateDir,
    onTrouble: logSetAside(log, "token ledger corrupt, budgets reset"),
  });
  const part = createConnectorsPart({ ...context, load: () => Promise.resolve(load(config)), ledger, prober });
  return {
    ...part,
    reload(next: Pick<Config, "settings">): readonly string[] {
      const found = load(next);
      part.replace(found);
      return found.plan.connectors.map(({ name }) => name);
    },
    dispose: ledger.dispose,
  };
}
