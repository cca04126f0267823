import type { ProviderKind } from "../kind.ts";
import { probeModel } from "../models.ts";

export const anthropic: ProviderKind = {
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
