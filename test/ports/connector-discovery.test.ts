import { describe, expect, it } from "vitest";
import { createDiscovery } from "#adapters/llm/discovery.ts";
import type { ConnectorSettings } from "#adapters/llm/plan.ts";
import { answerJson, withCaptureServer } from "./support/capture-server.ts";
import { answers, spoken } from "./support/provider-answers.ts";
import { ask, never } from "./support/providers.ts";

type Answer = Parameters<typeof withCaptureServer>[0];
const settings: ConnectorSettings = { list: [], discovers: true, budgets: { keys: {} } };
const tags = (...names: string[]) => ({ models: names.map((name) => ({ name, details: { family: "llama" } })) });

describe("an Ollama on this machine", () => {
  const findAt = async (answer: Answer, given: Partial<ConnectorSettings> = {}) => {
    const models: string[] = [];
    let asked = 0;
    await withCaptureServer(answer, async ({ port, requests }) => {
      const [all, environment] = [{ ...settings, ...given }, { OLLAMA_HOST: `127.0.0.1:${port}` }];
      const found = await createDiscovery(all, environment, { headersMs: 200, idleMs: 200 }).find(never);
      models.push(...found.map(({ model }) => model));
      asked = requests.length;
    });
    return { models, asked };
  };

  it("is a connector that can be used, and the same one as long as nothing changes", () =>
    withCaptureServer(
      ({ method }, response) =>
        answerJson(response, method === "POST" ? answers.chatCompletions.whole : tags("llama3.2:latest")),
      async ({ port }) => {
        const discovery = createDiscovery(settings, { OLLAMA_HOST: `127.0.0.1:${port}` });
        const [found, ...others] = await discovery.find(never);
        expect(found).toMatchObject({ name: "ollama", provider: "Ollama", model: "llama3.2:latest" });
        expect(others).toEqual([]);
        if (found === undefined || !("provider" in found.access)) throw new Error("it cannot be used");
        expect((await found.access.provider.chat(ask("question"), never)).content).toBe(spoken.text);
        expect((await discovery.find(never))[0]).toBe(found);
      },
    ));

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

  it.each<[string, Answer]>([
    ["answers something else", (_, response) => response.writeHead(200).end("<html>")],
    ["has no list of models", (_, response) => answerJson(response, { models: "none" })],
    ["has no model", (_, response) => answerJson(response, tags())],
    ["fails", (_, response) => answerJson(response, tags("a"), 500)],
    ["hangs up", (_, response) => response.destroy()],
    ["does not answer", () => undefined],
  ])("is not there where the server %s", async (_, answer) => {
    expect((await findAt(answer)).models).toEqual([]);
  });

  it.each<[string, Partial<ConnectorSettings>]>([
    ["say not to", { discovers: false }],
    ["have one", { list: [{ name: "local", provider: "ollama", model: "x" }] }],
    ["use its name", { list: [{ name: "ollama", provider: "openai", model: "x" }] }],
  ])("is not looked for when the settings %s", async (_, given) => {
    expect(await findAt((__, response) => answerJson(response, tags("a")), given)).toEqual({ models: [], asked: 0 });
  });

  it("may go away and come back, and is nothing to a caller who has given up", async () => {
    let models = ["a"];
    await withCaptureServer(
      (_, response) => answerJson(response, tags(...models)),
      async ({ port }) => {
        const discovery = createDiscovery(settings, { OLLAMA_HOST: `http://localhost:${port}/` });
        for (const each of [["a"], [], ["b", "a"]]) {
          models = each;
          expect((await discovery.find(never)).map(({ model }) => model)).toEqual(each.slice(0, 1));
        }
        expect(await discovery.find(AbortSignal.abort())).toEqual([]);
      },
    );
  });
});
