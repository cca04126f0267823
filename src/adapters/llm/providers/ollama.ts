import { bearer, type ProviderKind } from "../kind.ts";
import { modelsIn } from "../models.ts";
import { loadCompatible } from "./openai-compatible.ts";

/** Its own interface stands beside the one that speaks like OpenAI. */
const rootOf = (baseUrl: string): string => baseUrl.replace(/\/v1$/, "");

export const ollama: ProviderKind = {
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
