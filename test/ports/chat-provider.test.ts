import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatProvider } from "#domain/ports/connectors.ts";
import { ProviderFailed } from "#domain/ports/connectors.ts";
import { createFakeChatProvider } from "../fakes/chat-provider.ts";
import { ask, collect, everyProvider, failureOf, never, plantedKey, providerAt, textOf } from "./support/providers.ts";

const text = "Hello to you too, whoever you are!";
const usage = { inputTokens: 7, outputTokens: 9 };

/** Refusals by status, and what is to be thought of each. */
const refusals = [
  { status: 400, isRetryable: false, retryAfterMs: null },
  { status: 401, isRetryable: false, retryAfterMs: null },
  { status: 403, isRetryable: false, retryAfterMs: null },
  { status: 404, isRetryable: false, retryAfterMs: null },
  { status: 429, isRetryable: true, retryAfterMs: 7000 },
  { status: 500, isRetryable: true, retryAfterMs: null },
  { status: 503, isRetryable: true, retryAfterMs: null },
] as const;

/** Breakages, by the word that brings each about. */
const breakages = [
  { word: "malformed", failure: "unreadable", isRetryable: false },
  { word: "cut", failure: "unreachable", isRetryable: true },
  { word: "stalled", failure: "silent", isRetryable: true },
] as const;

let mock: LLMock;
beforeAll(async () => {
  mock = new LLMock({ port: 0 });
  for (const { status } of refusals) {
    mock.onMessage(`status ${status}`, {
      error: { message: `no, ${status}, with ${plantedKey}` },
      status,
      retryAfter: 7,
    });
  }
  mock.onMessage("malformed", { content: text }, { chaos: { malformedRate: 1 } });
  mock.onMessage("cut", { content: text }, { chaos: { disconnectRate: 1 } });
  mock.onMessage("broken", { content: text }, { truncateAfterChunks: 1, chunkSize: 5 });
  mock.onMessage("stalled", { content: text }, { chaos: { latencyMs: 5000 } });
  mock.onMessage("pausing", { content: text }, { streamingProfile: { ttft: 5000 } });
  mock.onMessage("hello", (request) => ({
    content: text,
    // Each interface has names of its own for the same figures.
    usage: {
      prompt_tokens: usage.inputTokens,
      completion_tokens: usage.outputTokens,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      promptTokenCount: usage.inputTokens,
      candidatesTokenCount: usage.outputTokens,
    },
    model: request.model,
  }));
  await mock.start();
});
afterAll(() => mock.stop());

const failed = (failure: ProviderFailed["failure"], rest: Partial<ProviderFailed>): ProviderFailed =>
  new ProviderFailed("it failed", { failure, isRetryable: false, ...rest });

const fake = (): ChatProvider =>
  createFakeChatProvider({
    reply: { content: text, model: "model-1", usage },
    failures: Object.fromEntries([
      ...refusals.map(({ status, ...rest }) => [`status ${status}`, failed("refused", { status, ...rest })] as const),
      ...breakages.map(({ word, failure, isRetryable }) => [word, failed(failure, { isRetryable })] as const),
    ]),
  });

const peers: readonly { readonly title: string; readonly make: () => ChatProvider; readonly tellsUsage: boolean }[] = [
  { title: "fake", make: fake, tellsUsage: true },
  ...everyProvider.map(({ title, entry }) => ({
    title,
    make: () => providerAt(mock.url, entry, { headersMs: 400, idleMs: 400 }),
    // The peer has no word about the tokens of a stream where it was not asked, and this provider cannot be asked.
    tellsUsage: title !== "Mistral",
  })),
];

describe.each(peers)("chat provider: $title", ({ title, make, tellsUsage }) => {
  it("answers with text, tokens, model and why it ended", async () => {
    const reply = await make().chat(ask("hello", { maxTokens: 100, temperature: 0.5 }), never);
    expect(reply).toEqual({ content: text, model: "model-1", usage, finishReason: "stop", warnings: [] });
  });

  it("answers in pieces, and with the same at the end", async () => {
    const parts = await collect(make().stream(ask("hello", { maxTokens: 100 }), never));
    expect(textOf(parts)).toBe(text);
    expect(parts.length).toBeGreaterThan(2);
    expect(parts.at(-1)).toEqual({
      kind: "end",
      model: "model-1",
      usage: tellsUsage ? usage : { inputTokens: null, outputTokens: null },
      finishReason: "stop",
      warnings: [],
    });
  });

  it.each(refusals)(
    "says that it refuses with $status, whole or in pieces",
    async ({ status, isRetryable, retryAfterMs }) => {
      const provider = make();
      const call = ask(`status ${status}`);
      for (const work of [() => provider.chat(call, never), () => collect(provider.stream(call, never))]) {
        const failure = await failureOf(work());
        expect(failure).toMatchObject({ failure: "refused", status, isRetryable, retryAfterMs });
        expect(failure.message).not.toContain(plantedKey.slice(0, 10));
        expect(failure.cause).toBeUndefined();
      }
    },
  );

  it.each(breakages)("says what is wrong when an answer is $word", async ({ word, failure, isRetryable }) => {
    const provider = make();
    expect(await failureOf(provider.chat(ask(word), never))).toMatchObject({ failure, isRetryable, status: null });
    expect(await failureOf(collect(provider.stream(ask(word), never)))).toMatchObject({ failure, isRetryable });
  });

  it("gives up with the reason of the signal", async () => {
    const reason = new Error("enough of this");
    const provider = make();
    const word = title === "fake" ? "hello" : "stalled";
    for (const start of [
      (signal: AbortSignal) => provider.chat(ask(word), signal),
      (signal: AbortSignal) => collect(provider.stream(ask(word), signal)),
      (signal: AbortSignal) => provider.probe(signal),
    ]) {
      const over = new AbortController();
      const work = start(over.signal);
      over.abort(reason);
      await expect(work).rejects.toBe(reason);
    }
  });
});

describe.each(everyProvider)("a stream of $title", ({ entry }) => {
  const provider = (): ChatProvider => providerAt(mock.url, entry, { headersMs: 400, idleMs: 400 });

  it("that breaks off has failed, after what it said", async () => {
    const parts: string[] = [];
    const failure = await failureOf(
      (async () => {
        for await (const part of provider().stream(ask("broken"), never)) {
          if (part.kind === "text") parts.push(part.text);
          else throw new Error("it has no end");
        }
      })(),
    );
    expect(failure).toMatchObject({ failure: "unreachable", isRetryable: true });
    expect(text.startsWith(parts.join(""))).toBe(true);
  });

  it("that falls silent has failed", async () => {
    const failure = await failureOf(collect(provider().stream(ask("pausing"), never)));
    expect(failure).toMatchObject({ failure: "silent", isRetryable: true });
  });
});
