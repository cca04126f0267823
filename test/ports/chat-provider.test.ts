import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { ChatCall } from "#domain/ports/connectors.ts";
import { toolRows } from "#transports/mcp/tools.ts";
import type { Captured } from "./support/capture-server.ts";
import { answerEvents, answerJson, withCaptureServer } from "./support/capture-server.ts";
import { answers, type Interface, spoken } from "./support/provider-answers.ts";
import { ask, collect, everyProvider, never, plantedKey, providerAt, textOf } from "./support/providers.ts";

const greeting = "Hello to you too, whoever you are!";
const mock = new LLMock({ port: 0 });
beforeAll(async () => {
  mock.onMessage("hello", (request) => ({
    content: greeting,
    // Each interface has names of its own for the same figures.
    usage: {
      ...{ prompt_tokens: 7, completion_tokens: 9, input_tokens: 7, output_tokens: 9 },
      ...{ promptTokenCount: 7, candidatesTokenCount: 9 },
    },
    model: request.model,
  }));
  mock.on(
    { userMessage: "look", hasToolResult: false },
    { toolCalls: [{ name: "listLogs", arguments: { unit: "nginx.service" } }], content: "I look first." },
  );
  mock.on({ userMessage: "look", hasToolResult: true }, { content: "It is port 80." });
  await mock.start();
});
afterAll(() => mock.stop());

/** All that a model may be offered: each provider has a form of its own for the schemas. The mock keeps no more than 64 KiB of a request. */
const tools = [...toolRows(operations).values()].map(({ name, tool }) => ({
  ...{ name, description: tool.description.slice(0, 40) },
  schema: { ...tool.inputSchema },
}));

const call: ChatCall = {
  messages: [
    { role: "system", content: "first" },
    { role: "system", content: "second" },
    { role: "user", content: "question" },
    { role: "assistant", content: "answer" },
    { role: "system", content: "third" },
    { role: "user", content: "again" },
  ],
  maxTokens: 321,
  temperature: 0.25,
};

const chatMessages = call.messages;
const bearer = { authorization: `Bearer ${plantedKey}` };
const chatBody = { model: "model-1", max_tokens: 321, temperature: 0.25, messages: chatMessages };
const parts = (content: string) => [{ type: "text", text: content }];

const withUsage = { stream: true, stream_options: { include_usage: true } };
const plainChat = { path: "/v1/chat/completions", headers: {}, body: chatBody, streamed: withUsage };
interface Wire {
  readonly path: string;
  readonly streamPath?: string;
  readonly headers: object;
  readonly body: object;
  /** What a stream adds. */
  readonly streamed: object;
}

/** What must be on the wire for `call`. */
const wire: Readonly<Record<string, Wire>> = {
  "OpenAI, chat": { ...plainChat, headers: bearer },
  "OpenAI, responses": {
    path: "/v1/responses",
    headers: bearer,
    body: {
      model: "model-1",
      max_output_tokens: 321,
      temperature: 0.25,
      store: false,
      input: [
        { role: "system", content: "first" },
        { role: "system", content: "second" },
        { role: "user", content: [{ type: "input_text", text: "question" }] },
        { role: "assistant", content: "answer" },
        { role: "system", content: "third" },
        { role: "user", content: [{ type: "input_text", text: "again" }] },
      ],
    },
    streamed: { stream: true },
  },
  Anthropic: {
    path: "/v1/messages",
    headers: { "x-api-key": plantedKey, "anthropic-version": "2023-06-01" },
    body: {
      model: "model-1",
      max_tokens: 321,
      temperature: 0.25,
      system: ["first", "second", "third"].flatMap(parts),
      messages: [
        { role: "user", content: parts("question") },
        { role: "assistant", content: parts("answer") },
        { role: "user", content: parts("again") },
      ],
    },
    streamed: { stream: true },
  },
  Google: {
    path: "/v1beta/models/model-1:generateContent",
    streamPath: "/v1beta/models/model-1:streamGenerateContent?alt=sse",
    headers: { "x-goog-api-key": plantedKey },
    body: {
      generationConfig: { maxOutputTokens: 321, temperature: 0.25 },
      systemInstruction: { parts: [{ text: "first" }, { text: "second" }, { text: "third" }] },
      contents: [
        { role: "user", parts: [{ text: "question" }] },
        { role: "model", parts: [{ text: "answer" }] },
        { role: "user", parts: [{ text: "again" }] },
      ],
    },
    streamed: {},
  },
  Mistral: {
    ...plainChat,
    headers: bearer,
    body: {
      ...chatBody,
      messages: chatMessages.map((message) =>
        message.role === "user" ? { ...message, content: parts(message.content) } : message,
      ),
    },
    streamed: { stream: true },
  },
  Ollama: plainChat,
  "OpenAI-compatible": plainChat,
};

/** Headers that HTTP itself needs, and what is known of them. */
const transport = /^(host|connection|accept(-language|-encoding)?|content-length|sec-fetch-mode)$/;
const ownHeaders = ({ headers }: Captured) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !transport.test(name)));

const ending = {
  model: "served-1",
  usage: { inputTokens: spoken.inputTokens, outputTokens: spoken.outputTokens },
  finishReason: "stop",
};

describe.each(everyProvider)("a chat with $title", ({ title, entry, speaks }) => {
  const expected = wire[title];
  if (expected === undefined) throw new Error(`nothing is said of ${title}`);

  it("has its path, headers, all messages in order, limit and temperature on the wire", () =>
    withCaptureServer(
      (_, response) => answerJson(response, answers[speaks].whole),
      async ({ url, requests }) => {
        const reply = await providerAt(url, entry).chat(call, never);
        expect(requests).toHaveLength(1);
        const [request] = requests;
        expect(request).toMatchObject({ method: "POST", path: expected.path });
        expect(request?.body).toEqual(expected.body);
        expect(request && ownHeaders(request)).toEqual({
          "content-type": "application/json",
          "user-agent": "steward",
          ...expected.headers,
        });
        expect(reply).toMatchObject({ content: spoken.text, ...ending });
      },
    ));

  it("has the same for a stream, which says so", () =>
    withCaptureServer(
      (_, response) => answerEvents(response, answers[speaks].events),
      async ({ url, requests }) => {
        const all = await collect(providerAt(url, entry).stream(call, never));
        expect(requests).toHaveLength(1);
        expect(requests[0]).toMatchObject({ method: "POST", path: expected.streamPath ?? expected.path });
        expect(requests[0]?.body).toEqual({ ...expected.body, ...expected.streamed });
        expect(all.slice(0, -1).map(({ kind }) => kind)).toEqual(["text", "text", "text"]);
        expect(textOf(all)).toBe(spoken.text);
        expect(all.at(-1)).toMatchObject({ kind: "end", ...ending });
      },
    ));

  it("has nothing on the wire that was not asked for", () =>
    withCaptureServer(
      (_, response) => answerJson(response, answers[speaks].whole),
      async ({ url, requests }) => {
        const provider = providerAt(url, { ...entry, model: "claude-sonnet-4-5" });
        const { warnings } = await provider.chat(ask("question"), never);
        expect(requests[0]?.body).not.toHaveProperty("temperature");
        expect(requests[0]?.body).not.toHaveProperty("tools");
        // Anthropic must be given a limit: without one in the call it is the most that the model takes.
        if (entry.provider === "anthropic") expect(requests[0]?.body).toMatchObject({ max_tokens: 64_000 });
        else expect(JSON.stringify(requests[0]?.body)).not.toMatch(/max/i);
        expect(warnings).toEqual([]);
      },
    ));

  it("is answered the same by a server that others have made, whole and in pieces", async () => {
    const provider = providerAt(mock.url, entry);
    const finishReason = "stop";
    const answered = { model: "model-1", finishReason, warnings: [] };
    const usage = { inputTokens: 7, outputTokens: 9 };
    expect(await provider.chat(ask("hello", { maxTokens: 100, temperature: 0.5 }), never)).toEqual({
      ...{ content: greeting, usage, ...answered },
    });
    const parts = await collect(provider.stream(ask("hello", { maxTokens: 100 }), never));
    expect([textOf(parts), parts.length > 2]).toEqual([greeting, true]);
    // It has no word about the tokens of a stream where it was not asked, and Mistral cannot be asked.
    const streamed = title === "Mistral" ? { inputTokens: null, outputTokens: null } : usage;
    expect(parts.at(-1)).toEqual({ kind: "end", usage: streamed, ...answered });
  });
});

it.each(everyProvider)("tools are called by $title, and answered", async ({ entry }) => {
  const provider = providerAt(mock.url, entry);
  const asked = { ...ask("look", { maxTokens: 100 }), tools };
  const { called } = await provider.chat(asked, never);
  expect(called?.calls).toEqual([{ id: expect.any(String), name: "listLogs", input: expect.any(String) }]);
  expect(JSON.parse(called?.calls[0]?.input ?? "")).toEqual({ unit: "nginx.service" });
  if (called === undefined) return;
  const exchanges = [{ ...called, answers: ["bind() to port 80 failed"] }];
  const { content, called: more } = await provider.chat({ ...asked, exchanges }, never);
  expect([content, more]).toEqual(["It is port 80.", undefined]);
  const { body } = mock.getLastRequest() ?? {};
  const sent = JSON.stringify(body);
  for (const part of ["nginx.service", "bind() to port 80 failed", ...tools.map(({ name }) => name)])
    expect(sent).toContain(part);
});

it("a tool call is handed on without the key that it repeats", async () => {
  const wanted = { id: "call-1", type: "function", function: { name: plantedKey, arguments: `{"a":"${plantedKey}"}` } };
  const message = { role: "assistant", content: null, tool_calls: [wanted] };
  const answer = { ...answers.chatCompletions.whole, choices: [{ index: 0, finish_reason: "tool_calls", message }] };
  await withCaptureServer(
    (_, response) => answerJson(response, answer),
    async ({ url }) => {
      const provider = providerAt(url, { provider: "openai", api: "chat" });
      const { called } = await provider.chat({ ...ask("look", {}), tools }, never);
      expect(called?.calls).toEqual([{ id: "call-1", name: "[redacted]", input: '{"a":"[redacted]"}' }]);
    },
  );
});

const speaksOf = (provider: string): Interface =>
  everyProvider.find(({ entry }) => entry.provider === provider)?.speaks ?? "chatCompletions";

describe("what a model does not take", () => {
  const warningsOf = async (provider: "openai" | "anthropic" | "google", model: string, fields: Partial<ChatCall>) => {
    const result = { warnings: [] as readonly string[], body: undefined as unknown };
    await withCaptureServer(
      (_, response) => answerJson(response, answers[speaksOf(provider)].whole),
      async ({ url, requests }) => {
        result.warnings = (await providerAt(url, { provider, model }).chat(ask("question", fields), never)).warnings;
        result.body = requests[0]?.body;
      },
    );
    return result;
  };

  it("is left out with a warning", async () => {
    const { warnings, body } = await warningsOf("openai", "o3", { temperature: 0.5, maxTokens: 9 });
    expect(warnings).toEqual(["the model does not take temperature: it was left out"]);
    expect(body).not.toHaveProperty("temperature");
    expect(body).toMatchObject({ max_completion_tokens: 9 });
  });

  it("is cut down to what it takes, with a warning", async () => {
    const { warnings, body } = await warningsOf("anthropic", "claude-sonnet-4-5", {
      temperature: 1.5,
      maxTokens: 200_000,
    });
    expect(warnings).toEqual([
      "the model does not take this temperature: 1 was sent",
      "the model does not take this max_tokens: 64000 was sent",
    ]);
    expect(body).toMatchObject({ temperature: 1, max_tokens: 64_000 });
  });

  it.each(["anthropic", "google"] as const)(
    "is moved where it takes it, with a warning: system messages of %s",
    async (provider) => {
      const { warnings } = await warningsOf(provider, "claude-sonnet-4-5", { messages: call.messages });
      expect(warnings).toEqual(["system messages were sent before all others: the provider takes them nowhere else"]);
      const first = await warningsOf(provider, "claude-sonnet-4-5", { messages: call.messages.slice(0, 3) });
      expect(first.warnings).toEqual([]);
    },
  );
});

describe("the address in the settings of a provider", () => {
  const pathAt = async (path: string, provider: "ollama" | "openai-compatible" | "anthropic") => {
    let seen: string | undefined;
    await withCaptureServer(
      (_, response) => answerJson(response, answers[speaksOf(provider)].whole),
      async ({ url, requests }) => {
        await providerAt(`${url}${path}`, { provider }).chat(ask("question"), never);
        seen = requests[0]?.path;
      },
    );
    return seen;
  };

  it.each([
    ["openai-compatible", "", "/v1/chat/completions"],
    ["openai-compatible", "/", "/v1/chat/completions"],
    ["openai-compatible", "/v1", "/v1/chat/completions"],
    ["openai-compatible", "/api/paas/v4/", "/api/paas/v4/chat/completions"],
    ["ollama", "", "/v1/chat/completions"],
    ["ollama", "/v1/", "/v1/chat/completions"],
    ["ollama", "/behind/a/proxy", "/behind/a/proxy/v1/chat/completions"],
    ["anthropic", "", "/v1/messages"],
  ] as const)("of %s may be %j, and leads to %s", async (provider, path, expected) => {
    expect(await pathAt(path, provider)).toBe(expected);
  });

  it("may have credentials, which are sent in a header", () =>
    withCaptureServer(
      (_, response) => answerJson(response, answers.chatCompletions.whole),
      async ({ port, requests }) => {
        const provider = providerAt(`http://me:p%40ss@127.0.0.1:${port}`, { provider: "openai-compatible" });
        await provider.chat(ask("question"), never);
        expect(requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from("me:p@ss").toString("base64")}`);
      },
    ));

  it("is asked without the proxies of the environment", () =>
    withCaptureServer(
      (_, response) => answerJson(response, answers.chatCompletions.whole),
      async ({ url, requests }) => {
        process.env["HTTP_PROXY"] = "http://127.0.0.1:9";
        process.env["OPENAI_BASE_URL"] = "http://127.0.0.1:9";
        try {
          await providerAt(url, { provider: "openai" }).chat(ask("question"), never);
        } finally {
          delete process.env["HTTP_PROXY"];
          delete process.env["OPENAI_BASE_URL"];
        }
        expect(requests).toHaveLength(1);
      },
    ));
});
