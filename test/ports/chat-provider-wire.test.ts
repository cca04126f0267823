import { describe, expect, it } from "vitest";
import type { ChatCall } from "#domain/ports/connectors.ts";
import type { Captured } from "./support/capture-server.ts";
import { answerEvents, answerJson, withCaptureServer } from "./support/capture-server.ts";
import { answers, spoken } from "./support/provider-answers.ts";
import { ask, collect, everyProvider, never, plantedKey, providerAt, textOf } from "./support/providers.ts";

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

const chatMessages = [
  { role: "system", content: "first" },
  { role: "system", content: "second" },
  { role: "user", content: "question" },
  { role: "assistant", content: "answer" },
  { role: "system", content: "third" },
  { role: "user", content: "again" },
];
const bearer = { authorization: `Bearer ${plantedKey}` };
const chatBody = { model: "model-1", max_tokens: 321, temperature: 0.25, messages: chatMessages };
const parts = (content: string) => [{ type: "text", text: content }];

/** What has to be on the wire for `call`, and what a stream adds. */
const wire: Readonly<
  Record<string, { path: string; streamPath?: string; headers: object; body: object; streamed: object }>
> = {
  "OpenAI, chat": {
    path: "/v1/chat/completions",
    headers: bearer,
    body: chatBody,
    streamed: { stream: true, stream_options: { include_usage: true } },
  },
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
    path: "/v1/chat/completions",
    headers: bearer,
    body: {
      ...chatBody,
      messages: chatMessages.map((message) =>
        message.role === "user" ? { ...message, content: parts(message.content) } : message,
      ),
    },
    streamed: { stream: true },
  },
  Ollama: {
    path: "/v1/chat/completions",
    headers: {},
    body: chatBody,
    streamed: { stream: true, stream_options: { include_usage: true } },
  },
  "OpenAI-compatible": {
    path: "/v1/chat/completions",
    headers: {},
    body: chatBody,
    streamed: { stream: true, stream_options: { include_usage: true } },
  },
};

/** Headers that HTTP itself needs, and what is known of them. */
const transport = [
  "host",
  "connection",
  "accept",
  "accept-language",
  "accept-encoding",
  "content-length",
  "sec-fetch-mode",
];
const ownHeaders = ({ headers }: Captured) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !transport.includes(name)));

describe.each(everyProvider)("on the wire: $title", ({ title, entry, speaks }) => {
  const expected = wire[title];
  if (expected === undefined) throw new Error(`nothing is said of ${title}`);

  it("are the path, the headers, all messages in order, the limit and the temperature", () =>
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
        expect(reply).toMatchObject({
          content: spoken.text,
          model: "served-1",
          usage: { inputTokens: spoken.inputTokens, outputTokens: spoken.outputTokens },
          finishReason: "stop",
        });
      },
    ));

  it("are the same for a stream, which says so", () =>
    withCaptureServer(
      (_, response) => answerEvents(response, answers[speaks].events),
      async ({ url, requests }) => {
        const all = await collect(providerAt(url, entry).stream(call, never));
        expect(requests).toHaveLength(1);
        expect(requests[0]).toMatchObject({ method: "POST", path: expected.streamPath ?? expected.path });
        expect(requests[0]?.body).toEqual({ ...expected.body, ...expected.streamed });
        expect(all.slice(0, -1).map(({ kind }) => kind)).toEqual(["text", "text", "text"]);
        expect(textOf(all)).toBe(spoken.text);
        expect(all.at(-1)).toMatchObject({
          kind: "end",
          model: "served-1",
          usage: { inputTokens: spoken.inputTokens, outputTokens: spoken.outputTokens },
          finishReason: "stop",
        });
      },
    ));

  it("is nothing that was not asked for", () =>
    withCaptureServer(
      (_, response) => answerJson(response, answers[speaks].whole),
      async ({ url, requests }) => {
        const { warnings } = await providerAt(url, { ...entry, model: "claude-sonnet-4-5" }).chat(
          ask("question"),
          never,
        );
        expect(requests[0]?.body).not.toHaveProperty("temperature");
        expect(requests[0]?.body).not.toHaveProperty("tools");
        // Anthropic has to be given a limit: without one in the call it is the most that the model takes.
        if (entry.provider === "anthropic") expect(requests[0]?.body).toMatchObject({ max_tokens: 64_000 });
        else expect(JSON.stringify(requests[0]?.body)).not.toMatch(/max/i);
        expect(warnings).toEqual([]);
      },
    ));
});

describe("what a model does not take", () => {
  const warningsOf = async (provider: "openai" | "anthropic" | "google", model: string, fields: Partial<ChatCall>) => {
    const { speaks } = everyProvider.find(({ entry }) => entry.provider === provider) ?? { speaks: "chatCompletions" };
    const result = { warnings: [] as readonly string[], body: undefined as unknown };
    await withCaptureServer(
      (_, response) => answerJson(response, answers[speaks].whole),
      async ({ url, requests }) => {
        result.warnings = (await providerAt(url, { provider, model }).chat(ask("question", fields), never)).warnings;
        result.body = requests[0]?.body;
      },
    );
    return result;
  };

  it("is left out, and said", async () => {
    const { warnings, body } = await warningsOf("openai", "o3", { temperature: 0.5, maxTokens: 9 });
    expect(warnings).toEqual(["the model does not take temperature: it was left out"]);
    expect(body).not.toHaveProperty("temperature");
    expect(body).toMatchObject({ max_completion_tokens: 9 });
  });

  it("is sent as much of as it takes, and said", async () => {
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

  it.each(["anthropic", "google"] as const)("is a place for system messages later on: %s", async (provider) => {
    const { warnings } = await warningsOf(provider, "claude-sonnet-4-5", { messages: call.messages });
    expect(warnings).toEqual(["system messages were sent before all others: the provider takes them nowhere else"]);
    const first = await warningsOf(provider, "claude-sonnet-4-5", { messages: call.messages.slice(0, 3) });
    expect(first.warnings).toEqual([]);
  });
});

describe("the address of the settings", () => {
  const pathAt = async (path: string, provider: "ollama" | "openai-compatible" | "anthropic") => {
    const { speaks } = everyProvider.find(({ entry }) => entry.provider === provider) ?? { speaks: "chatCompletions" };
    let seen: string | undefined;
    await withCaptureServer(
      (_, response) => answerJson(response, answers[speaks].whole),
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
  ] as const)("%s at %j is asked at %s", async (provider, path, expected) => {
    expect(await pathAt(path, provider)).toBe(expected);
  });

  it("may bear credentials, which travel in a header", () =>
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
