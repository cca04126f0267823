import type { ConnectorEntry } from "#adapters/llm/plan.ts";
import { createConnectorPlan } from "#adapters/llm/plan.ts";
import type { ChatCall, ChatPart, ChatProvider } from "#domain/ports/connectors.ts";
import { ProviderFailed } from "#domain/ports/connectors.ts";
import type { Interface } from "./provider-answers.ts";

export const plantedKey = "sk-planted-0123456789abcdefXYZ";

/** The environment in which every provider has its key. */
const keys = {
  OPENAI_API_KEY: plantedKey,
  ANTHROPIC_API_KEY: plantedKey,
  GEMINI_API_KEY: plantedKey,
  MISTRAL_API_KEY: plantedKey,
};

type Limits = NonNullable<Parameters<typeof createConnectorPlan>[2]>;

/** The provider of an entry whose address is a server of the test. */
export function providerAt(
  baseUrl: string | undefined,
  entry: Partial<ConnectorEntry> & Pick<ConnectorEntry, "provider">,
  limits: Limits = {},
): ChatProvider {
  const whole: ConnectorEntry = {
    name: "tested",
    model: "model-1",
    ...(baseUrl !== undefined && { baseUrl }),
    ...entry,
  };
  const settings = { list: [whole], discovers: false, budgets: { keys: {} } };
  const [connector] = createConnectorPlan(settings, keys, limits).connectors;
  if (connector === undefined || !("provider" in connector.access)) throw new Error(JSON.stringify(connector));
  return connector.access.provider;
}

/** Every provider, and the interface that it is spoken to by. */
export const everyProvider: readonly {
  readonly title: string;
  readonly entry: Pick<ConnectorEntry, "provider" | "api">;
  readonly speaks: Interface;
}[] = [
  { title: "OpenAI, chat", entry: { provider: "openai", api: "chat" }, speaks: "chatCompletions" },
  { title: "OpenAI, responses", entry: { provider: "openai", api: "responses" }, speaks: "responses" },
  { title: "Anthropic", entry: { provider: "anthropic" }, speaks: "anthropic" },
  { title: "Google", entry: { provider: "google" }, speaks: "google" },
  { title: "Mistral", entry: { provider: "mistral" }, speaks: "chatCompletions" },
  { title: "Ollama", entry: { provider: "ollama" }, speaks: "chatCompletions" },
  { title: "OpenAI-compatible", entry: { provider: "openai-compatible" }, speaks: "chatCompletions" },
];

export const never = new AbortController().signal;

export const ask = (text: string, fields: Partial<ChatCall> = {}): ChatCall => ({
  messages: [{ role: "user", content: text }],
  maxTokens: undefined,
  temperature: undefined,
  ...fields,
});

export async function collect(parts: AsyncIterable<ChatPart>): Promise<readonly ChatPart[]> {
  const all: ChatPart[] = [];
  for await (const part of parts) all.push(part);
  return all;
}

export const textOf = (parts: readonly ChatPart[]): string =>
  parts.map((part) => (part.kind === "text" ? part.text : "")).join("");

/** What a call failed with; the test fails when it did not, or with something else. */
export async function failureOf(work: Promise<unknown>): Promise<ProviderFailed> {
  const outcome = await work.then(
    () => new Error("it did not fail"),
    (error: unknown) => error,
  );
  if (outcome instanceof ProviderFailed) return outcome;
  throw outcome;
}
