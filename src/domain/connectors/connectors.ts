import type { Connector, ConnectorList, ConnectorStatus, ConnectorTest } from "#contract/connectors.ts";
import { probeIntervalMs } from "#contract/limits.ts";
import type { BudgetOf, ConnectorDefinition, ConnectorDiscovery, ConnectorPlan } from "#domain/ports/connectors.ts";
import { ProviderFailed } from "#domain/ports/connectors.ts";
import { healthy, type ProbeResult } from "#domain/ports/probe.ts";
import { withinTime } from "#kernel/async.ts";
import { type Clock, toNullableTimestamp } from "#kernel/clock.ts";
import { isOfTheCall, statusOf, timeUp } from "./failure.ts";

const probeTimeoutMs = 10_000;

export interface DefaultState {
  /** Null without one. A configured one that is missing has its name. */
  readonly name: string | null;
  readonly status: ConnectorStatus | undefined;
  readonly reason: string | null;
}

/** Health of the component `llm`. A connector that is not configured is not expected. */
export function defaultConnectorHealth({ name, status, reason }: DefaultState): ProbeResult {
  if (name === null)
    return { healthy: false, expected: false, reason: "there is no connector, or none was looked for yet" };
  if (status === "connected") return healthy;
  const isExpected = status !== undefined && status !== "not_configured";
  return { healthy: false, expected: isExpected, reason: `connector ${name}: ${reason ?? "not asked yet"}` };
}

export type Connectors = ReturnType<typeof createConnectors>;

interface Entry {
  definition: ConnectorDefinition;
  status: ConnectorStatus;
  checkedAt: number | null;
  error: string | null;
  /** Time of the last real call, monotonic. */
  usedAt: number | undefined;
}

const freshEntry = (definition: ConnectorDefinition): Entry => ({
  definition,
  ...("missing" in definition.access
    ? { status: "not_configured" as const, error: definition.access.missing }
    : { status: "disconnected" as const, error: "not asked yet" }),
  checkedAt: null,
  usedAt: undefined,
});

/** Whether the status of one applies to the other. */
const isAlike = (a: ConnectorDefinition, b: ConnectorDefinition): boolean =>
  a.provider === b.provider && a.model === b.model && "missing" in a.access === "missing" in b.access;

const toConnector = ({ definition, status, checkedAt, error }: Entry): Connector => ({
  name: definition.name,
  provider: definition.provider,
  model: definition.model,
  status,
  last_checked_at: toNullableTimestamp(checkedAt),
  last_error: error,
});

const late = (limitMs: number): never => {
  throw timeUp(limitMs);
};

export interface ConnectorsPorts {
  readonly load: () => Promise<{ readonly plan: ConnectorPlan; readonly discovery: ConnectorDiscovery | undefined }>;
  readonly clock: Clock;
  readonly onChange: (change: {
    readonly connector: string;
    readonly status: ConnectorStatus;
    readonly reason: string | null;
  }) => void;
  readonly onTrouble: (error: unknown) => void;
}

interface State extends ConnectorsPorts {
  readonly shutdown: AbortController;
  plan: ConnectorPlan;
  discovery: ConnectorDiscovery | undefined;
  found: readonly ConnectorDefinition[];
  entries: ReadonlyMap<string, Entry>;
  loading: Promise<void> | undefined;
  isReplaced: boolean;
  round: Promise<void> | undefined;
}

function place(state: State): void {
  const { plan, found, entries: before, onChange } = state;
  const entries = new Map<string, Entry>();
  state.entries = entries;
  for (const definition of [...plan.connectors, ...found]) {
    if (entries.has(definition.name)) continue;
    const known = before.get(definition.name);
    const isKnown = known !== undefined && isAlike(known.definition, definition);
    // It may have another address or key, so it is probed even when the other was just used.
    const usedAt = known?.definition === definition ? known.usedAt : undefined;
    const entry = isKnown ? { ...known, definition, usedAt } : freshEntry(definition);
    entries.set(definition.name, entry);
    if (!isKnown && entry.status === "not_configured")
      onChange({ connector: definition.name, status: entry.status, reason: entry.error });
  }
}

/** Never replaces the configured default: what is meant for a local model must not go to others. */
function defaultName({ plan, entries }: State): string | null {
  if (plan.default === undefined) return entries.keys().next().value ?? null;
  return entries.has(plan.default) ? plan.default : null;
}

function defaultState(state: State): DefaultState {
  const name = state.plan.default ?? defaultName(state);
  const entry = name === null ? undefined : state.entries.get(name);
  if (name !== null && entry === undefined) return { name, status: "disconnected", reason: "it was not found" };
  const isUnknown = entry?.checkedAt === null && entry.status !== "not_configured";
  return { name, status: isUnknown ? undefined : entry?.status, reason: entry?.error ?? null };
}

function findEntry({ entries }: State, definition: ConnectorDefinition): Entry | undefined {
  const entry = entries.get(definition.name);
  return entry?.definition === definition ? entry : undefined;
}

/** Records the result of a probe or call; undefined: success. */
function recordResult(state: State, definition: ConnectorDefinition, failure: ProviderFailed | undefined): void {
  const entry = findEntry(state, definition);
  if (entry === undefined) return;
  const status = failure === undefined ? "connected" : statusOf(failure);
  const reason = failure?.message ?? null;
  const isChanged = entry.status !== status || entry.checkedAt === null;
  entry.status = status;
  entry.error = reason;
  entry.checkedAt = state.clock.now();
  if (isChanged) state.onChange({ connector: definition.name, status, reason });
}

/** Probes a provider. @returns why it would not answer. */
async function probeOnce({ clock, onTrouble }: State, definition: ConnectorDefinition, signal: AbortSignal) {
  if ("missing" in definition.access) return undefined;
  const { provider } = definition.access;
  try {
    await withinTime(clock, probeTimeoutMs, signal, (during) => provider.probe(during), late);
    return undefined;
  } catch (error) {
    if (signal.aborted) return new ProviderFailed("cut short", { failure: "silent", isRetryable: true });
    if (error instanceof ProviderFailed) return error;
    onTrouble(error);
    const reason = error instanceof Error ? error.name : typeof error;
    const failure = { failure: "unreadable", isRetryable: false, cause: error } as const;
    return new ProviderFailed(`internal error (${reason})`, failure);
  }
}

async function discover(state: State): Promise<void> {
  const { discovery: finder, clock, shutdown, onTrouble } = state;
  if (finder === undefined) return;
  let fresh: readonly ConnectorDefinition[] = [];
  try {
    fresh = await withinTime(clock, probeTimeoutMs, shutdown.signal, (during) => finder.find(during), late);
  } catch (error) {
    if (!(error instanceof ProviderFailed) && !shutdown.signal.aborted) onTrouble(error);
  }
  if (finder !== state.discovery || shutdown.signal.aborted) return;
  // Known definitions stay the same objects, so that calls in flight still belong to them.
  const known = new Map(state.found.map((each) => [each.name, each]));
  state.found = fresh.map((each) => {
    const same = known.get(each.name);
    return same !== undefined && isAlike(same, each) ? same : each;
  });
  place(state);
}

async function askIdle(state: State): Promise<void> {
  const { clock, shutdown, entries } = state;
  const isIdle = ({ definition, usedAt }: Entry): boolean =>
    !("missing" in definition.access) && (usedAt === undefined || clock.monotonicMs() - usedAt >= probeIntervalMs);
  await Promise.all(
    [...entries.values()].filter(isIdle).map(async ({ definition }) => {
      const failure = await probeOnce(state, definition, shutdown.signal);
      if (!shutdown.signal.aborted) recordResult(state, definition, failure);
    }),
  );
}

async function loadFirst(state: State): Promise<void> {
  const { plan, discovery } = await state.load();
  // A reload in the meantime is newer.
  if (state.isReplaced) return;
  state.plan = plan;
  state.discovery = discovery;
  place(state);
  await discover(state);
}

function ready(state: State): Promise<void> {
  state.loading ??= loadFirst(state).catch((error: unknown) => {
    state.loading = undefined;
    throw error;
  });
  return state.loading;
}

async function runRound(state: State): Promise<void> {
  const isFirst = state.loading === undefined;
  await ready(state);
  if (!isFirst) await discover(state);
  await askIdle(state);
}

function probe(state: State): Promise<void> {
  state.round ??= runRound(state).finally(() => {
    state.round = undefined;
  });
  return state.round;
}

async function test(state: State, definition: ConnectorDefinition, signal: AbortSignal): Promise<ConnectorTest> {
  const { clock } = state;
  const startedAt = clock.monotonicMs();
  const failure = await probeOnce(state, definition, signal);
  const latencyMs = Math.round(clock.monotonicMs() - startedAt);
  if ("missing" in definition.access)
    return { success: false, message: `not configured: ${definition.access.missing}`, latency_ms: latencyMs };
  // An aborted test says nothing about the connector.
  if (!signal.aborted) recordResult(state, definition, failure);
  const message = failure?.message ?? `${definition.provider} would answer with ${definition.model}`;
  return { success: failure === undefined, message, latency_ms: latencyMs };
}

export function createConnectors(ports: ConnectorsPorts) {
  const state: State = {
    ...ports,
    shutdown: new AbortController(),
    plan: { default: undefined, connectors: [], budgetOf: () => undefined },
    discovery: undefined,
    found: [],
    entries: new Map(),
    loading: undefined,
    isReplaced: false,
    round: undefined,
  };

  return {
    /** Resolves once the plan is loaded and the first discovery is over. */
    ready: (): Promise<void> => ready(state),
    list: (): ConnectorList => {
      return { default: defaultName(state), connectors: [...state.entries.values()].map(toConnector) };
    },
    find: (name: string): ConnectorDefinition | undefined => state.entries.get(name)?.definition,
    defaultName: (): string | null => defaultName(state),
    defaultState: (): DefaultState => defaultState(state),
    budgetOf: (...key: Parameters<BudgetOf>) => state.plan.budgetOf(...key),
    /** Records the result of a real call; undefined: success. */
    used: (definition: ConnectorDefinition, failure: ProviderFailed | undefined): void => {
      const entry = findEntry(state, definition);
      if (entry !== undefined) entry.usedAt = state.clock.monotonicMs();
      recordResult(state, definition, failure !== undefined && isOfTheCall(failure) ? undefined : failure);
    },
    test: (definition: ConnectorDefinition, signal: AbortSignal): Promise<ConnectorTest> =>
      test(state, definition, signal),
    /** Discovers connectors and probes those not used recently. Rounds do not overlap: later callers share the current one. */
    probe: (): Promise<void> => probe(state),
    /** Replaces the connectors. Unchanged ones keep their status until the next probe. */
    replace: (plan: ConnectorPlan, discovery: ConnectorDiscovery | undefined): Promise<void> => {
      state.loading ??= Promise.resolve();
      state.isReplaced = true;
      state.plan = plan;
      state.discovery = discovery;
      if (discovery === undefined) state.found = [];
      place(state);
      // The current round probes the former connectors.
      const again = (): Promise<void> => probe(state);
      return (state.round ?? Promise.resolve()).then(again, again);
    },
    dispose: () => state.shutdown.abort(),
  };
}
