import { describe, expect, it } from "vitest";
import type { ConnectorSettings } from "#adapters/llm/index.ts";
import { createDiscovery } from "#adapters/llm/index.ts";
import type { ConnectorDefinition, ConnectorDiscovery } from "#domain/ports/connectors.ts";
import { createFakeChatProvider } from "../fakes/chat-provider.ts";
import { createFakeConnectorDiscovery } from "../fakes/connector-discovery.ts";
import { answerJson, withCaptureServer } from "./support/capture-server.ts";
import { answers, spoken } from "./support/provider-answers.ts";
import { ask, never } from "./support/providers.ts";

const settings: ConnectorSettings = { list: [], discovers: true, budgets: { keys: {} } };
const tags = (...names: string[]) => ({ models: names.map((name) => ({ name, details: { family: "llama" } })) });

/** Runs the test with what finds the model, or none. */
type With = (model: string | undefined, test: (discovery: ConnectorDiscovery) => Promise<void>) => Promise<void>;

const definition = (model: string): ConnectorDefinition => ({
  name: "ollama",
  provider: "Ollama",
  model,
  access: { provider: createFakeChatProvider({ reply: { content: spoken.text } }) },
  timeoutMs: 120_000,
});

const withFake: With = (model, test) =>
  test(createFakeConnectorDiscovery(model === undefined ? [] : [definition(model)]));

const withServer: With = (model, test) =>
  withCaptureServer(
    ({ method }, response) =>
      answerJson(
        response,
        method === "POST" ? answers.chatCompletions.whole : tags(...(model === undefined ? [] : [model])),
      ),
    ({ port }) => test(createDiscovery(settings, { OLLAMA_HOST: `127.0.0.1:${port}` })),
  );

describe.each([
  ["fake", withFake],
  ["an Ollama on this machine", withServer],
] as const)("connector discovery: %s", (_, withDiscovery) => {
  it("finds what is there, ready to be used", () =>
    withDiscovery("llama3.2:latest", async (discovery) => {
      const [found, ...others] = await discovery.find(never);
      expect(found).toMatchObject({ name: "ollama", provider: "Ollama", model: "llama3.2:latest" });
      expect(others).toEqual([]);
      if (found === undefined || !("provider" in found.access)) throw new Error("it cannot be used");
      expect((await found.access.provider.chat(ask("question"), never)).content).toBe(spoken.text);
      // As long as nothing changes it is the same connector.
      expect((await discovery.find(never))[0]).toBe(found);
    }));

  it("finds nothing where there is nothing", () =>
    withDiscovery(undefined, async (discovery) => {
      expect(await discovery.find(never)).toEqual([]);
    }));
});

describe("an Ollama on this machine", () => {
  const findAt = async (answer: Parameters<typeof withCaptureServer>[0], given: Partial<ConnectorSettings> = {}) => {
    let found: readonly ConnectorDefinition[] = [];
    let asked = 0;
    await withCaptureServer(answer, async ({ port, requests }) => {
      const limits = { headersMs: 200, idleMs: 200 };
      found = await createDiscovery({ ...settings, ...given }, { OLLAMA_HOST: `127.0.0.1:${port}` }, limits).find(
        never,
      );
      asked = requests.length;
    });
    return { models: found.map(({ model }) => model), asked };
  };

  it("serves its first model that can talk", async () => {
    const models = [
      { name: "nomic-embed-text:latest", details: { family: "nomic-bert" } },
      { name: "all-minilm:latest", details: { family: "bert" } },
      { name: 5 },
      null,
      { name: "qwen3:8b", details: { family: "qwen3" } },
      { name: "llama3.2:latest" },
    ];
    expect((await findAt((_, response) => answerJson(response, { models }))).models).toEqual(["qwen3:8b"]);
  });

  it("is not there when something else is", async () => {
    expect((await findAt((_, response) => response.writeHead(200).end("<html>"))).models).toEqual([]);
    expect((await findAt((_, response) => answerJson(response, { models: "none" }))).models).toEqual([]);
    expect((await findAt((_, response) => answerJson(response, tags("a"), 500))).models).toEqual([]);
    expect((await findAt((_, response) => response.destroy())).models).toEqual([]);
    expect((await findAt(() => undefined)).models).toEqual([]);
  });

  it("is not looked for when the settings have one, use its name, or say not to", async () => {
    const answer: Parameters<typeof withCaptureServer>[0] = (_, response) => answerJson(response, tags("a"));
    for (const given of [
      { discovers: false },
      { list: [{ name: "local", provider: "ollama", model: "x" }] },
      { list: [{ name: "ollama", provider: "openai", model: "x" }] },
    ] as const) {
      expect(await findAt(answer, given)).toEqual({ models: [], asked: 0 });
    }
  });

  it("may go away and come back", async () => {
    let models = ["a"];
    await withCaptureServer(
      (_, response) => answerJson(response, tags(...models)),
      async ({ port }) => {
        const discovery = createDiscovery(settings, { OLLAMA_HOST: `http://localhost:${port}/` });
        const find = async () => (await discovery.find(never)).map(({ model }) => model);
        expect(await find()).toEqual(["a"]);
        models = [];
        expect(await find()).toEqual([]);
        models = ["b", "a"];
        expect(await find()).toEqual(["b"]);
      },
    );
  });

  it("is nothing to whoever has given up", async () => {
    expect(await createDiscovery(settings, {}).find(AbortSignal.abort())).toEqual([]);
  });
});
