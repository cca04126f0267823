import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ChatCall } from "#domain/ports/connectors.ts";
import { recordsIn } from "#kernel/values.ts";
import { ErrorAnswer, fieldOf, nonEmptyString } from "./failures.ts";
import type { Fetch } from "./fetch.ts";

/** The name under which an OpenAI-compatible server takes the most tokens of an answer. */
export type TokenLimit = "max_tokens" | "max_completion_tokens";

export interface Access {
  readonly model: string;
  readonly baseUrl: string;
  /** Whether that is an address of the settings, where something else than the provider itself may answer. */
  readonly isOwnAddress: boolean;
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
  readonly api: "chat" | "responses";
  readonly tokenLimit: TokenLimit;
}

export interface Asking {
  readonly get: (url: string) => Promise<unknown>;
  /** @throws ProviderFailed: the provider has no such model, and what to do about it. */
  readonly modelMissing: (offered?: readonly string[]) => never;
  readonly chat: (call: Pick<ChatCall, "maxTokens">) => Promise<void>;
}

export interface ProviderKind {
  readonly display: string;
  readonly called?: string;
  /** Its path, `/v1` without one, is put behind an address of the settings that has none. */
  readonly baseUrl?: string;
  /** Without these it needs no key, and no connector comes from the environment. */
  readonly keyVariables?: readonly [string, ...string[]];
  readonly defaultModel?: string;
  readonly hoistsSystem?: true;
  readonly remedy: (model: string) => string;
  /** A bearer token by default. */
  readonly authenticate?: (key: string) => Readonly<Record<string, string>>;
  readonly load: (access: Access) => Promise<LanguageModelV4>;
  readonly options?: (access: Access) => Readonly<Record<string, Readonly<Record<string, boolean>>>>;
  /** The model as the provider names it, from an answer as it came, where the library leaves it out. */
  readonly modelIn?: (raw: unknown) => string | undefined;
  readonly probe: (access: Access, asking: Asking) => Promise<void>;
}

function modelsIn(listing: unknown, list: "data" | "models"): readonly string[] {
  return recordsIn(fieldOf(listing, list)).flatMap(({ id, name, model, aliases }) => {
    const names = [id, name, model, ...(Array.isArray(aliases) ? aliases : [])].map(nonEmptyString);
    return [...new Set(names.filter((each) => each !== undefined))];
  });
}

const hasStatus = (error: unknown, ...statuses: readonly number[]): boolean =>
  error instanceof ErrorAnswer && statuses.includes(error.statusCode);
const isPageMissing = (error: unknown): boolean => hasStatus(error, 404, 405, 501);

/** Asks for the page of the model itself. At an address of one's own there may be no such page: then a chat decides. */
async function probeModel(url: string, { isOwnAddress }: Access, asking: Asking, maxTokens = 1): Promise<void> {
  try {
    await asking.get(url);
  } catch (error) {
    if (isOwnAddress && isPageMissing(error)) return asking.chat({ maxTokens });
    if (hasStatus(error, 404)) asking.modelMissing();
    throw error;
  }
}

const modelPage = ({ baseUrl, model }: Access): string => `${baseUrl}/models/${encodeURIComponent(model)}`;

/** Servers that speak like OpenAI may have no listing, or take any name: then a chat decides. */
async function probeListing({ baseUrl, model, isOwnAddress }: Access, asking: Asking): Promise<void> {
  let offered: readonly string[] = [];
  try {
    offered = modelsIn(await asking.get(`${baseUrl}/models`), "data");
  } catch (error) {
    if (!isOwnAddress || !isPageMissing(error)) throw error;
  }
  if (offered.includes(model)) return;
  if (!isOwnAddress) return asking.modelMissing(offered);
  await asking.chat({ maxTokens: 1 });
}

async function loadCompatible({ model, baseUrl, key, headers, fetch, tokenLimit }: Access): Promise<LanguageModelV4> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const provider = createOpenAICompatible({
    name: "compatible",
    baseURL: baseUrl,
    ...(key !== undefined && { apiKey: key }),
    headers,
    fetch,
    includeUsage: true,
    transformRequestBody: ({ max_tokens: maxTokens, ...body }) =>
      maxTokens === undefined ? body : { ...body, [tokenLimit]: maxTokens },
  });
  return provider.chatModel(model);
}

const openaiCompatible: ProviderKind = {
  display: "OpenAI-compatible",
  called: "the server",
  remedy: () => "GET /v1/models of the server lists what it has",
  load: loadCompatible,
  probe: probeListing,
};

const leastTokens = 16;

const openai: ProviderKind = {
  display: "OpenAI",
  baseUrl: "https://api.openai.com/v1",
  keyVariables: ["OPENAI_API_KEY"],
  defaultModel: "gpt-5.4-mini",
  remedy: () => "the models of a key are listed at https://platform.openai.com/docs/models",
  async load({ model, baseUrl, key = "", headers, fetch, api }) {
    const { createOpenAI } = await import("@ai-sdk/openai");
    const provider = createOpenAI({ baseURL: baseUrl, apiKey: key, headers, fetch });
    return api === "responses" ? provider.responses(model) : provider.chat(model);
  },
  // By default the provider keeps what the responses interface is asked.
  options: ({ api }) => (api === "responses" ? { openai: { store: false } } : {}),
  probe(access, asking) {
    const { isOwnAddress, api } = access;
    if (isOwnAddress && api === "chat") return probeListing(access, asking);
    return probeModel(modelPage(access), access, asking, api === "responses" ? leastTokens : 1);
  },
};

const anthropic: ProviderKind = {
  display: "Anthropic",
  baseUrl: "https://api.anthropic.com/v1",
  keyVariables: ["ANTHROPIC_API_KEY"],
  defaultModel: "claude-sonnet-4-5",
  hoistsSystem: true,
  remedy: () => "the models are listed at https://docs.claude.com/en/docs/about-claude/models",
  authenticate: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  async load({ model, baseUrl, key = "", headers, fetch }) {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic({ baseURL: baseUrl, apiKey: key, headers, fetch }).languageModel(model);
  },
  probe: (access, asking) => probeModel(modelPage(access), access, asking),
};

const modelPath = (model: string): string => (model.includes("/") ? model : `models/${model}`);

const google: ProviderKind = {
  display: "Google",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  keyVariables: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
  defaultModel: "gemini-flash-latest",
  hoistsSystem: true,
  remedy: () => "the models are listed at https://ai.google.dev/gemini-api/docs/models",
  authenticate: (key) => ({ "x-goog-api-key": key }),
  async load({ model, baseUrl, key = "", headers, fetch }) {
    const { createGoogle } = await import("@ai-sdk/google");
    return createGoogle({ baseURL: baseUrl, apiKey: key, headers: { ...headers }, fetch }).languageModel(model);
  },
  modelIn: (raw) => nonEmptyString(fieldOf(raw, "modelVersion")),
  probe: (access, asking) => probeModel(`${access.baseUrl}/${modelPath(access.model)}`, access, asking),
};

const mistral: ProviderKind = {
  display: "Mistral",
  baseUrl: "https://api.mistral.ai/v1",
  keyVariables: ["MISTRAL_API_KEY"],
  defaultModel: "mistral-small-latest",
  remedy: () => "the models are listed at https://docs.mistral.ai/getting-started/models",
  async load({ model, baseUrl, key = "", headers, fetch }) {
    const { createMistral } = await import("@ai-sdk/mistral");
    return createMistral({ baseURL: baseUrl, apiKey: key, headers, fetch }).languageModel(model);
  },
  probe: probeListing,
};

const rootOf = (baseUrl: string): string => baseUrl.replace(/\/v1$/, "");

const ollama: ProviderKind = {
  display: "Ollama",
  baseUrl: "http://127.0.0.1:11434/v1",
  remedy: (model) => `ollama pull ${model}`,
  load: (access) => loadCompatible({ ...access, baseUrl: `${rootOf(access.baseUrl)}/v1` }),
  async probe({ baseUrl, model }, asking) {
    const offered = modelsIn(await asking.get(`${rootOf(baseUrl)}/api/tags`), "models");
    // A name without a tag means the one that is called latest.
    const names = model.includes(":") ? [model] : [model, `${model}:latest`];
    if (!names.some((name) => offered.includes(name))) asking.modelMissing(offered);
  },
};

export const providers = {
  openai,
  anthropic,
  google,
  mistral,
  ollama,
  "openai-compatible": openaiCompatible,
} as const satisfies Readonly<Record<string, ProviderKind>>;

export type ProviderName = keyof typeof providers;
