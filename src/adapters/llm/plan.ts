import type { ConnectorDefinition, ConnectorPlan } from "#domain/ports/connectors.ts";
import { createChatProvider } from "./chat-provider.ts";
import { createFetch, defaultLimits, type FetchLimits } from "./fetch.ts";
import { type ProviderKind, type ProviderName, providers, type TokenLimit } from "./providers.ts";
import { type Environment, type Key, type KeySource, readAddress, readKey } from "./secrets.ts";

export interface ConnectorEntry {
  readonly name: string;
  readonly provider: ProviderName;
  readonly model: string;
  readonly baseUrl?: string;
  readonly key?: KeySource;
  readonly api?: "chat" | "responses";
  readonly tokenLimit?: TokenLimit;
  readonly timeoutMs?: number;
}

export interface ConnectorSettings {
  readonly default?: string;
  readonly list: readonly ConnectorEntry[];
  readonly discovers: boolean;
  readonly budgets: {
    readonly tokensPerDay?: number;
    readonly keys: Readonly<Record<string, number>>;
  };
}

const defaultTimeoutMs = 120_000;

function connectorKey({ key }: ConnectorEntry, kind: ProviderKind, environment: Environment): Key | undefined {
  const { keyVariables } = kind;
  if (key !== undefined) return readKey(key, environment);
  if (keyVariables === undefined) return undefined;
  const name = keyVariables.find((each) => environment[each] !== undefined) ?? keyVariables[0];
  return readKey({ from: "environment", name }, environment);
}

export function defineConnector(
  entry: ConnectorEntry,
  environment: Environment,
  limits: Partial<FetchLimits> = {},
): ConnectorDefinition {
  const { name, model, timeoutMs = defaultTimeoutMs } = entry;
  const kind: ProviderKind = providers[entry.provider];
  const common = { name, provider: kind.display, model, timeoutMs };
  const found = connectorKey(entry, kind, environment);
  if (found !== undefined && "missing" in found) return { ...common, access: found };
  const text = entry.baseUrl ?? kind.baseUrl;
  if (text === undefined) return { ...common, access: { missing: "base_url is not set" } };
  const { baseUrl, host, headers, secrets } = readAddress(
    text,
    kind.baseUrl === undefined ? "/v1" : new URL(kind.baseUrl).pathname,
  );
  const key = found?.key;
  const access = {
    model,
    baseUrl,
    isOwnAddress: baseUrl !== kind.baseUrl,
    key,
    headers,
    // A call is never over before its connector says so, and no pause in it is longer.
    fetch: createFetch({ headersMs: timeoutMs, idleMs: Math.min(defaultLimits.idleMs, timeoutMs), ...limits }),
    api: entry.api ?? "chat",
    tokenLimit: entry.tokenLimit ?? "max_tokens",
  } as const;
  const party = {
    provider: kind.called ?? kind.display,
    host,
    model,
    secrets: key === undefined ? secrets : [key, ...secrets],
    remedy: kind.remedy(model),
  };
  return { ...common, access: { provider: createChatProvider(kind, access, party) } };
}

function fromEnvironment({ list }: ConnectorSettings, environment: Environment): readonly ConnectorEntry[] {
  return Object.keys(providers)
    .filter((name): name is ProviderName => Object.hasOwn(providers, name))
    .flatMap((provider) => {
      const { defaultModel: model, keyVariables }: ProviderKind = providers[provider];
      const isTaken = list.some((entry) => entry.provider === provider || entry.name === provider);
      const hasKey = keyVariables?.some((variable) => (environment[variable] ?? "").trim() !== "");
      return model === undefined || isTaken || !hasKey ? [] : [{ name: provider, provider, model }];
    });
}

/** The connectors of settings and environment. Keys are read now; nobody is asked and no library is loaded. */
export function createConnectorPlan(
  settings: ConnectorSettings,
  environment: Environment,
  limits: Partial<FetchLimits> = {},
): ConnectorPlan {
  const { list, discovers, budgets } = settings;
  const entries = [...list, ...(discovers ? fromEnvironment(settings, environment) : [])];
  return {
    default: settings.default,
    connectors: entries.map((entry) => defineConnector(entry, environment, limits)),
    budgetOf: ({ id, name }) =>
      [id, name].map((each) => (Object.hasOwn(budgets.keys, each) ? budgets.keys[each] : undefined)).find(Boolean) ??
      budgets.tokensPerDay,
  };
}
