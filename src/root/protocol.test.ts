import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeMessage, readMessages } from "./protocol.ts";

async function* arriving(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const end = Math.min(bytes.length, cut);
    yield await Promise.resolve(bytes.subarray(start, end));
    start = end;
  }
  yield bytes.subarray(start);
}
async function readAll(bytes: Uint8Array, maxBytes: number, cuts: readonly number[]): Promise<unknown[]> {
  const messages: unknown[] = [];
  for await (const message of readMessages(arriving(bytes, cuts), maxBytes)) messages.push(message);
  return messages;
}
const read = (text: string, maxBytes = 1000, cuts: readonly number[] = []) =>
  readAll(Buffer.from(text), maxBytes, cuts);

it("the protocol of the privileged side reads the same messages, wherever what arrives is cut", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue()), fc.array(fc.nat(2000)), async (messages, cuts) => {
      const text = messages.map(encodeMessage).join("");
      expect(await read(text, 1_000_000, cuts)).toEqual(JSON.parse(JSON.stringify(messages)));
    }),
  ));

it("the protocol of the privileged side reads complete lines of JSON, or fails with a reason", () =>
  fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.nat(100), async (bytes, maxBytes) => {
      const error = await readAll(bytes, maxBytes, []).then(
        () => undefined,
        (reason: unknown) => String(reason),
      );
      expect(error ?? "message longer").toMatch(/message longer|expected a line of JSON|closed in the middle/);
    }),
  ));

it.each([
  ["is not JSON", "{\n", /expected a line of JSON/],
  ["was cut off", '{"a":', /closed in the middle/],
  ["is too long", `"${"x".repeat(1000)}"\n`, /longer than 1000 bytes/],
  ["never ends", "x".repeat(1001), /longer than 1000 bytes/],
])("the protocol of the privileged side refuses a message that %s", async (_, text, why) => {
  await expect(read(text)).rejects.toThrow(why);
});

it("the protocol of the privileged side yields each message before the next has arrived", async () => {
  const messages = readMessages(arriving(Buffer.from("1\n2\nx"), [2, 4]), 10);
  expect([await messages.next(), await messages.next()]).toMatchObject([{ value: 1 }, { value: 2 }]);
  await expect(messages.next()).rejects.toThrow(/closed in the middle/);
});
