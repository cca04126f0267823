import { describe, expect, it } from "vitest";
import { type ConnectorEntry, type ConnectorSettings, createConnectorPlan } from "./plan.ts";
import { providers } from "./providers.ts";

const settings = (fields: Partial<ConnectorSettings> = {}): ConnectorSettings => ({
  list: [],
  discovers: true,
  budgets: { keys: {} },
  ...fields,
});
const entry = (fields: Partial<ConnectorEntry> = {}): ConnectorEntry => ({
  name: "mine",
  provider: "openai",
  model: "model-1",
  ...fields,
});
const summary = (given: ConnectorSettings, environment = {}) =>
  createConnectorPlan(given, environment).connectors.map(({ name, provider, model, access }) => [
    name,
    provider,
    model,
    "missing" in access ? access.missing : "ready",
  ]);

describe("connectors of the settings", () => {
  it("are in their order, with their defaults", () => {
    const list = [
      entry({ name: "b", provider: "anthropic", timeoutMs: 5000 }),
      entry({ name: "a" }),
      entry({ name: "c", key: { from: "environment", name: "OTHER" } }),
      entry({ name: "d", provider: "ollama" }),
      entry({ name: "e", provider: "openai-compatible", baseUrl: "http://127.0.0.1:8080" }),
      entry({ name: "f", provider: "openai-compatible" }),
    ];
    expect(summary(settings({ list, discovers: false }), { OPENAI_API_KEY: "sk-1" })).toEqual([
      ["b", "Anthropic", "model-1", "ANTHROPIC_API_KEY is not set"],
      ["a", "OpenAI", "model-1", "ready"],
      ["c", "OpenAI", "model-1", "OTHER is not set"],
      ["d", "Ollama", "model-1", "ready"],
      ["e", "OpenAI-compatible", "model-1", "ready"],
      ["f", "OpenAI-compatible", "model-1", "base_url is not set"],
    ]);
    const plan = createConnectorPlan(settings({ list, default: "d" }), {});
    expect(plan.default).toBe("d");
    expect(plan.connectors.slice(0, 2).map(({ timeoutMs }) => timeoutMs)).toEqual([5000, 120_000]);
  });

  it("take the second variable of Google without the first", () => {
    const list = [entry({ provider: "google" })];
    expect(summary(settings({ list }), { GEMINI_API_KEY: "AIza" })[0]?.[3]).toBe("ready");
    expect(summary(settings({ list }), {})[0]?.[3]).toBe("GOOGLE_GENERATIVE_AI_API_KEY is not set");
  });
});

describe("connectors of the environment", () => {
  const all = { MISTRAL_API_KEY: "m", GEMINI_API_KEY: "g", ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o" };

  it("exist for the keys that are set, with a default model", () => {
    expect(summary(settings(), all)).toEqual([
      ["openai", "OpenAI", providers.openai.defaultModel, "ready"],
      ["anthropic", "Anthropic", providers.anthropic.defaultModel, "ready"],
      ["google", "Google", providers.google.defaultModel, "ready"],
      ["mistral", "Mistral", providers.mistral.defaultModel, "ready"],
    ]);
    expect(summary(settings(), { OPENAI_API_KEY: " " })).toEqual([]);
    expect(summary(settings(), {})).toEqual([]);
  });

  it("come after those of the settings, without their providers and names", () => {
    const list = [entry({ name: "x", provider: "openai" }), entry({ name: "mistral", provider: "ollama" })];
    expect(summary(settings({ list }), all).map(([name]) => name)).toEqual(["x", "mistral", "anthropic", "google"]);
    expect(summary(settings({ discovers: false }), all)).toEqual([]);
  });
});

it("the token budget of a key is found by its id, its name, or as the default", () => {
  const keys = { deploy: 5, sk_1: 7 };
  const budgets = (tokensPerDay?: number) =>
    createConnectorPlan(settings({ budgets: { ...(tokensPerDay !== undefined && { tokensPerDay }), keys } }), {})
      .budgetOf;
  expect(budgets(3)({ id: "sk_1", name: "deploy" })).toBe(7);
  expect(budgets(3)({ id: "sk_2", name: "deploy" })).toBe(5);
  expect(budgets(3)({ id: "sk_2", name: "other" })).toBe(3);
  expect(budgets()({ id: "sk_2", name: "toString" })).toBeUndefined();
});
