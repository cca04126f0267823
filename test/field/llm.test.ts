import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { defineConnector } from "#adapters/llm/plan.ts";
import { ProviderFailed } from "#domain/ports/connectors.ts";
import { describeCases } from "./cases.ts";

const { signal } = new AbortController();
const call = { messages: [{ role: "user" as const, content: "hi" }], maxTokens: undefined, temperature: undefined };

/** Whole answers: how each ends, and what its text is or begins with. Calls of tools, which nobody asked for here, have no text. */
const answers: Readonly<Record<string, readonly [finishReason: string, text: RegExp]>> = {
  "cerebras-harmony-1": ["stop", /./],
  "compatible-valid-response-1": ["stop", /./],
  "gpustack-llamacpp-basic-1": ["stop", /./],
  "gpustack-llamacpp-tools-1": ["other", /^/],
  "gpustack-llamacpp-tools-2": ["stop", /./],
  "groq-tool-use-failed-2": ["other", /^/],
  "huggingface-basic-1": ["stop", /./],
  "mistral-content-array-1": ["stop", /144/],
  "ollama-cloud-basic-1": ["stop", /./],
  "ollama-cloud-tools-1": ["stop", /Paris/],
  "ollama-cloud-tools-2": ["other", /^/],
  "ollama-local-json-1": ["stop", /^\{/],
  "ollama-qwen3-basic-1": ["stop", /./],
  "ollama-qwen3-tools-1": ["other", /^/],
  "ollama-qwen3-tools-2": ["stop", /./],
  "openrouter-basic-1": ["stop", /./],
  "openrouter-tools-1": ["other", /^/],
};

/** Refusals with the status that they came with, and a word of theirs. */
const refusals: Readonly<Record<string, readonly [status: number, word: RegExp]>> = {
  "deepseek-too-long-1": [400, /context length|tokens/i],
  "groq-tool-use-failed-1": [400, /tool|function/i],
  "mistral-auth-error-1": [401, /key|unauthori[sz]ed/i],
  "ollama-cloud-too-long-1": [400, /long|tokens/i],
  "openrouter-auth-error-1": [401, /key|cookie|auth|user/i],
  "xai-auth-error-1": [400, /key/i],
};

/** What is not an answer of the chat interface. */
const notUnderstood = ["compatible-text-response-1.txt", "vllm-completion-1.json"];

const streams: Readonly<Record<string, RegExp>> = {
  "alibaba-tool-call.chunks.txt": /^/,
  "deepseek-stream-1.sse": /./,
  "deepseek-tool-call.chunks.txt": /^/,
  "gateway-anthropic-tool-call.sse": /^/,
  "moonshot-stream.chunks.txt": /./,
  "openrouter-stream-1.sse": /./,
  "openrouter-stream-reasoning-1.sse": /./,
  "xai-tool-call.chunks.txt": /^/,
};

/** A recording that ends between two events. */
const cutOff = "perplexity-stream-1.sse";

let answer = { status: 200, type: "application/json", body: "" };
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(answer.status, { "content-type": answer.type }).end(answer.body);
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

function chatProvider() {
  const { port } = server.address() as AddressInfo;
  const entry = {
    name: "x",
    provider: "openai-compatible" as const,
    model: "m",
    baseUrl: `http://127.0.0.1:${port}/v1`,
  };
  const { access } = defineConnector(entry, {});
  if (!("provider" in access)) throw new Error("no provider");
  return access.provider;
}

describeCases("llm", ({ path, text }) => {
  it("every file is one of those below", () => {
    const json = [...Object.keys(answers), ...Object.keys(refusals)].map((name) => `${name}.json`);
    const files = readdirSync(path("")).filter((name) => name !== "README.md");
    expect(files.toSorted()).toEqual([...json, ...notUnderstood, ...Object.keys(streams), cutOff].toSorted());
  });

  it.each(Object.entries(answers))("%s: text and end of the answer", async (file, [finishReason, content]) => {
    answer = { status: 200, type: "application/json", body: text(`${file}.json`) };
    const got = await chatProvider().chat(call, signal);
    expect(got).toMatchObject({ finishReason, content: expect.stringMatching(content) });
  });

  it.each(Object.entries(refusals))(
    "%s: refused with its status, in the provider's words",
    async (file, [status, word]) => {
      answer = { status, type: "application/json", body: text(`${file}.json`) };
      const failure = await chatProvider()
        .chat(call, signal)
        .catch((thrown: unknown) => thrown);
      expect(failure).toBeInstanceOf(ProviderFailed);
      expect(failure).toMatchObject({
        failure: "refused",
        status,
        isRetryable: false,
        message: expect.stringMatching(word),
      });
    },
  );

  it.each(notUnderstood)("%s: not an answer of the chat interface", async (file) => {
    answer = { status: 200, type: file.endsWith(".json") ? "application/json" : "text/plain", body: text(file) };
    await expect(chatProvider().chat(call, signal)).rejects.toMatchObject({
      failure: "unreadable",
      isRetryable: false,
    });
  });

  it.each(Object.entries(streams))("%s: text of the stream, and its end", async (file, content) => {
    const events = file.endsWith(".sse")
      ? text(file)
      : text(file)
          .split("\n")
          .filter((line) => line.trim() !== "")
          .map((line) => `data: ${line}\n\n`)
          .join("");
    answer = { status: 200, type: "text/event-stream", body: events };
    let got = "";
    let end = false;
    for await (const part of chatProvider().stream(call, signal)) {
      if (part.kind === "text") got += part.text;
      else end = true;
    }
    expect([got, end]).toEqual([expect.stringMatching(content), true]);
  });

  it("a stream that is cut off gives its text until then, and counts as broken off", async () => {
    answer = { status: 200, type: "text/event-stream", body: text(cutOff) };
    let got = "";
    const read = async () => {
      for await (const part of chatProvider().stream(call, signal)) if (part.kind === "text") got += part.text;
    };
    await expect(read()).rejects.toMatchObject({ failure: "unreachable", isRetryable: true });
    expect(got).toMatch(/^Ruby is a .+It was created$/s);
  });
});
