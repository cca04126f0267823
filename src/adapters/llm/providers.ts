import type { LanguageModelV4 } from "@ai-sdk/provider";
import { recordsIn } from "#kernel/values.ts";
import { ErrorAnswer, fieldOf, nonEmptyString } from "./failures.ts";
import type { Access, Asking, ProviderKind } from "./kind.ts";

function modelsIn(listing: unknown, list: "data" | "models"): readonly string[] {
  return recordsIn(fieldOf(listing, list)).flatMap(({ id, name, model, aliases }) => {
    const names = [id, name, model, ...(Array.isArray(aliases) ? aliases : [])].map(nonEmptyString);
    return [...new Set(names.filter((each) => each !== undefined))];
  });
}

const isPageMissing = (error: unknown): boolean =>
  error instanceof ErrorAnswer && [404, 405, 501].includes(error.statusCode);

const isMissing = (error: unknown): boolean => error instanceof ErrorAnswer && error.statusCode === 404;

/** Asks for the page of the model itself. At an address of one's own there may be no such page: then a chat tells. */
async function probeModel(
  url: string,
  { isOwnAddress }: Pick<Access, "isOwnAddress">,
  asking: Asking,
  maxTokens = 1,
): Promise<void> {
  try {
    await asking.get(url);
  } catch (error) {
    if (isOwnAddress && isPageMissing(error)) return asking.chat({ maxTokens });
    if (isMissing(error)) asking.modelMissing();
    throw error;
  }
}

/** Servers that speak like OpenAI may have no listing, or take any name: then a chat tells. */
async function probeListing(
  url: string,
  { model, isOwnAddress }: Pick<Access, "model" | "isOwnAddress">,
  asking: Asking,
): Promise<void> {
  let offered: readonly string[] = [];
  try {
    offered = modelsIn(await asking.get(url), "data");
  } catch (error) {
    if (!isOwnAddress || !isPageMissing(error)) throw error;
  }
  if (offered.includes(model)) return;
  if (!isOwnAddress) return asking.modelMissing(offered);
  await asking.chat({ maxTokens: 1 });
}

const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` });

async function loadCompatible({ model, baseUrl, key, headers, fetch }: Access): Promise<LanguageModelV4> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const provider = createOpenAICompatible({
    name: "compatible",
    baseURL: baseUrl,
    ...(key !== undefined && { apiKey: key }),
    headers,
    fetch,
    includeUsage: true,
  });
  return provider.chatModel(model);
}

const openaiCompatible: ProviderKind = {
  display: "OpenAI-compatible",
  called: "the server",
  baseUrl: undefined,
  path: "/v1",
  keyVariables: [],
  needsKey: false,
  defaultModel: undefined,
  hoistsSystem: false,
  remedy: () => "GET /v1/models of the server lists what it has",
  authenticate: bearer,
  load: loadCompatible,
  probe: (access, asking) => probeListing(`${access.baseUrl}/models`, access, asking),
};

const leastTokens = 16;

const openai: ProviderKind = {
  display: "OpenAI",
  baseUrl: "https://api.openai.com/v1",
  path: "/v1",
  keyVariables: ["OPENAI_API_KEY"],
  needsKey: true,
  defaultModel: "gpt-5.4-mini",
  hoistsSystem: false,
  remedy: () => "the models of a key are listed at https://platform.openai.com/docs/models",
  authenticate: bearer,
  async load({ model, baseUrl, key = "", headers, fetch, api }) {
    const { createOpenAI } = await import("@ai-sdk/openai");
    const provider = createOpenAI({ baseURL: baseUrl, apiKey: key, headers, fetch });
    return api === "responses" ? provider.responses(model) : provider.chat(model);
  },
  // Unless told otherwise the provider keeps what the responses interface is asked.
  options: ({ api }) => (api === "responses" ? { openai: { store: false } } : {}),
  probe(access, asking) {
    const { baseUrl, isOwnAddress, model, api } = access;
    if (isOwnAddress && api === "chat") return probeListing(`${baseUrl}/models`, access, asking);
    const url = `${baseUrl}/models/${encodeURIComponent(model)}`;
    return probeModel(url, access, asking, api === "responses" ? leastTokens : 1);
  },
};

const anthropic: ProviderKind = {
  display: "Anthropic",
  baseUrl: "https://api.anthropic.com/v1",
  path: "/v1",
  keyVariables: ["ANTHROPIC_API_KEY"],
  needsKey: true,
  defaultModel: "claude-sonnet-4-5",
  hoistsSystem: true,
  remedy: () => "the models are listed at https://docs.claude.com/en/docs/about-claude/models",
  authenticate: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  async load({ model, baseUrl, key = "", headers, fetch }) {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic({ baseURL: baseUrl, apiKey: key, headers, fetch }).languageModel(model);
  },
  probe: (access, asking) => probeModel(`${access.baseUrl}/models/${encodeURIComponent(access.model)}`, access, asking),
};

/** A model of the user's own comes with its folder: `tunedModels/mine`. */
const modelPath = (model: string): string => (model.includes("/") ? model : `models/${model}`);

const google: ProviderKind = {
  display: "Google",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  path: "/v1beta",
  keyVariables: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
  needsKey: true,
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
  path: "/v1",
  keyVariables: ["MISTRAL_API_KEY"],
  needsKey: true,
  defaultModel: "mistral-small-latest",
  hoistsSystem: false,
  remedy: () => "the models are listed at https://docs.mistral.ai/getting-started/models",
  authenticate: bearer,
  async load({ model, baseUrl, key = "", headers, fetch }) {
    const { createMistral } = await import("@ai-sdk/mistral");
    return createMistral({ baseURL: baseUrl, apiKey: key, headers, fetch }).languageModel(model);
  },
  probe: (access, asking) => probeListing(`${access.baseUrl}/models`, access, asking),
};

const rootOf = (baseUrl: string): string => baseUrl.replace(/\/v1$/, "");

const ollama: ProviderKind = {
  display: "Ollama",
  baseUrl: "http://127.0.0.1:11434/v1",
  path: "/v1",
  keyVariables: [],
  needsKey: false,
  defaultModel: undefined,
  hoistsSystem: false,
  remedy: (model) => `ollama pull ${model}`,
  authenticate: bearer,
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
