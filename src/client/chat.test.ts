import fc from "fast-check";
import { expect, it } from "vitest";
import { type ChatEvent, streamChat } from "./chat.ts";

const request = { messages: [{ role: "user" as const, content: "Hello" }] };

/** A fetch whose answer comes in pieces of these lengths, over and over. */
const answering = (text: string, lengths: readonly number[]): typeof globalThis.fetch => {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  let turn = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const end = at + (lengths[turn % lengths.length] ?? 1);
      controller.enqueue(bytes.slice(at, end));
      at = end;
      turn += 1;
    },
  });
  return () => Promise.resolve(new Response(body, { headers: { "X-Request-Id": "r-1" } }));
};

async function all(fetch: typeof globalThis.fetch): Promise<readonly ChatEvent[]> {
  const seen: ChatEvent[] = [];
  for await (const event of streamChat({ url: "http://h", key: "k", request, fetch })) seen.push(event);
  return seen;
}

const block = (event: string, data: object): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const done = {
  content: "",
  model: "m",
  connector: "c",
  usage: { input_tokens: 1, output_tokens: 1 },
  finish_reason: "stop",
  warnings: [],
};

it("a streamed chat has the same events however its bytes are chunked", async () => {
  const contents = fc.array(fc.string({ unit: "grapheme", minLength: 1 }), { maxLength: 10 });
  const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(contents, lengths, async (list, cuts) => {
      const text = `${list.map((content) => `:\n\n${block("delta", { content })}`).join("")}${block("done", done)}`;
      expect(await all(answering(text, cuts))).toEqual([
        ...list.map((content) => ({ event: "delta", content })),
        { event: "done", answer: done },
      ]);
    }),
  );
});

it.each([
  ["before its end", block("delta", { content: "Hel" })],
  ["in the middle of an event", `${block("delta", { content: "Hel" })}event: done\ndata: {`],
  ["before anything", ""],
])("a streamed chat that breaks off is an error: %s", async (_, text) => {
  await expect(all(answering(text, [5]))).rejects.toMatchObject({
    code: "UNREADABLE",
    message: "the answer broke off",
  });
});
