import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Access, bearer, type ProviderKind } from "../kind.ts";
import { probeListing } from "../models.ts";

export async function loadCompatible({ model, baseUrl, key, headers, fetch }: Access): Promise<LanguageModelV4> {
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

export const openaiCompatible: ProviderKind = {
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
