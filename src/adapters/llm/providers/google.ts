import { fieldOf, textOf } from "../json.ts";
import type { ProviderKind } from "../kind.ts";
import { probeModel } from "../models.ts";

/** A model of the user's own comes with its folder: `tunedModels/mine`. */
const pathOf = (model: string): string => (model.includes("/") ? model : `models/${model}`);

export const google: ProviderKind = {
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
  modelIn: (raw) => textOf(fieldOf(raw, "modelVersion")),
  probe: (access, asking) => probeModel(`${access.baseUrl}/${pathOf(access.model)}`, access, asking),
};
