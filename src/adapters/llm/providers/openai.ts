import { bearer, type ProviderKind } from "../kind.ts";
import { probeListing, probeModel } from "../models.ts";

/** Fewest tokens that the responses interface takes for a limit. */
const leastTokens = 16;

export const openai: ProviderKind = {
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
