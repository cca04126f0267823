import { bearer, type ProviderKind } from "../kind.ts";
import { probeListing } from "../models.ts";

export const mistral: ProviderKind = {
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
