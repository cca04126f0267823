import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { defineConnector } from "#adapters/llm/plan.ts";
import { type ChatProvider, ProviderFailed } from "#domain/ports/connectors.ts";

/** What the server is asked, and what it answers. */
let asked: Record<string, unknown>[] = [];
let answer: (body: Record<string, unknown>) => { status?: number; type?: string; body: string } = () => ({
  body: "{}",
});
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const text = Buffer.concat(chunks).toString();
    if (text === "") return response.writeHead(404).end();
    const body = JSON.parse(text) as Record<string, unknown>;
    asked.push(body);
    const { status = 200, type = "application/json", body: content } = answer(body);
    response.writeHead(status, { "content-type": type }).end(content);
  });
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

function provider(tokenLimit?: "max_completion_tokens"): ChatProvider {
  const { port } = server.address() as AddressInfo;
  const entry = {
    name: "x",
    provider: "openai-compatible" as const,
    model: "m",
    baseUrl: `http://127.0.0.1:${port}/v1`,
  };
  const { access } = defineConnector({ ...entry, ...(tokenLimit !== undefined && { tokenLimit }) }, {});
  if (!("provider" in access)) throw new Error("no provider");
  asked = [];
  return access.provider;
}

const { signal } = new AbortController();
const call = { messages: [{ role: "user" as const, content: "hi" }], maxTokens: 50, temperature: undefined };
const good = JSON.stringify({
  ...{ id: "1", created: 1, model: "m", usage: { prompt_tokens: 1, completion_tokens: 1 } },
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "ho" } }],
});

it.each([
  [{ message: "Slow down, please", code: 429 }, 429, true],
  [{ message: "Slow down, please", code: "rate_limit_exceeded" }, 429, true],
  [{ message: "Slow down, please", type: "overloaded_error" }, 503, true],
  [{ message: "Slow down, please", code: "insufficient_quota" }, 429, false],
  [{ message: "Slow down, please", code: 400 }, 400, false],
  [{ message: "Slow down, please" }, null, false],
] as const)(
  "an error inside of an answer keeps its words, and whether to try again: %j",
  async (error, status, isRetryable) => {
    answer = () => ({ body: JSON.stringify({ error }) });
    const failure = await provider()
      .chat(call, signal)
      .catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(ProviderFailed);
    expect(failure).toMatchObject({
      failure: "refused",
      status,
      isRetryable,
      message: expect.stringContaining("Slow down"),
    });
  },
);

it("an error in a stream keeps its words, and whether to try again", async () => {
  const chunk = JSON.stringify({ error: { message: "Too many", code: "rate_limit_exceeded" } });
  answer = () => ({ type: "text/event-stream", body: `data: ${chunk}\n\n` });
  const read = async () => {
    for await (const _ of provider().stream(call, signal));
  };
  await expect(read()).rejects.toMatchObject({
    ...{ failure: "refused", status: 429, isRetryable: true, message: expect.stringContaining("Too many") },
  });
});

it("a model that wants more tokens than the probe gives it is asked without a limit, and counts as healthy", async () => {
  answer = ({ max_tokens: limit }) =>
    limit === undefined ? { body: good } : { status: 400, body: '{"error":{"message":"max_tokens is too small"}}' };
  await provider().probe(signal);
  expect(asked.map(({ max_tokens: limit }) => limit)).toEqual([1, undefined]);
});

it("a model that refuses the probe without a limit too is in error", async () => {
  answer = () => ({ status: 400, body: '{"error":{"message":"no such model"}}' });
  await expect(provider().probe(signal)).rejects.toMatchObject({ failure: "refused", status: 400 });
});

it("the most tokens of an answer are sent under the name that the settings give", async () => {
  answer = () => ({ body: good });
  expect((await provider("max_completion_tokens").chat(call, signal)).content).toBe("ho");
  expect(asked).toEqual([expect.objectContaining({ max_completion_tokens: 50 })]);
  expect(asked[0]).not.toHaveProperty("max_tokens");
  await provider().chat(call, signal);
  expect(asked).toEqual([expect.objectContaining({ max_tokens: 50 })]);
});
