import { createDiscovery } from "#adapters/llm/discovery.ts";
import { createConnectorPlan } from "#adapters/llm/plan.ts";
import { openTokenLedger } from "#adapters/token-ledger/index.ts";
import { type PartContext, storeOptions } from "#app/part.ts";
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
import type { TracesPart } from "./host.ts";

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

interface Earlier {
  readonly traces: Pick<TracesPart, "traced">;
  readonly prober: Pick<Prober, "probeNow">;
}

interface ConnectorAdapters {
  readonly load: (config: Pick<Config, "settings">) => Promise<FoundConnectors>;
  readonly ledger: TokenLedger;
  readonly dispose?: () => void;
}

function openConnectors(context: PartContext, { traces: { traced } }: Earlier): ConnectorAdapters {
  const ledger = openTokenLedger(storeOptions(context, "token ledger corrupt, budgets reset"));
  return {
    load({ settings }) {
      const described = connectorSettings(settings);
      const plan = createConnectorPlan(described, process.env, traced.requestOptions);
      const discovery = createDiscovery(described, process.env, traced.requestOptions);
      return Promise.resolve(traced.connectorsOf({ plan, discovery }));
    },
    ledger,
    dispose: ledger.dispose,
  };
}

/** The providers of language models, and talk with them. */
export function connectorsPart(context: PartContext, earlier: Earlier, adapters = openConnectors(context, earlier)) {
  const { config, clock, log, metrics } = context;
  const { prober } = earlier;
  const { load, ledger, dispose } = adapters;
  const onTrouble = (error: unknown): void => log.error({ err: error }, "cannot read connectors or write token usage");
  // The health status shows the state of the default connector at once, not at the next probe.
  const onDefault = (): Promise<void> => prober.probeNow("llm");
  const connectors = createConnectors({
    load: () => load(config),
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
      ledger,
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
  const replace = ({ plan, discovery }: FoundConnectors): void =>
    void connectors.replace(plan, discovery).then(onDefault, onTrouble);
  const asked = Promise.withResolvers<void>();
  let isAsked = false;
  let stopAsking: Dispose | undefined;
  return {
    handlers: connectorHandlers({ connectors, chat }),
    chat,
    probe,
    replace,
    async reload(next: Config): Promise<object> {
      const found = await load(next);
      replace(found);
      return { connectors: found.plan.connectors.map(({ name }) => name) };
    },
    async ready(): Promise<void> {
      stopAsking = clock.every(probeIntervalMs, () => void askAll());
      await askAll();
      isAsked = true;
      asked.resolve();
    },
    /** Waits a short time until the providers have answered for the first time; undefined when they have. */
    firstAnswer: (): Promise<void> | undefined => (isAsked ? undefined : within(clock, firstAnswerMs, asked.promise)),
    stop(): void {
      stopAsking?.();
      connectors.dispose();
    },
    dispose: () => dispose?.(),
  };
}

export type ConnectorsPart = ReturnType<typeof connectorsPart>;
