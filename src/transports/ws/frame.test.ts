import { expect, it } from "vitest";
import { encodeDroppedFrame, encodeErrorFrame, encodeTextFrame } from "./outbox.ts";

/** What a client reads, by the rules of RFC 6455 §5.2: unmasked text messages of one frame each, shortest length first. */
function read(bytes: Buffer): readonly string[] {
  const messages: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    expect(bytes[at]).toBe(0b1000_0001);
    const short = bytes[at + 1] ?? 255;
    expect(short).toBeLessThan(128);
    const [length, headerBytes] =
      short < 126
        ? [short, 2]
        : short === 126
          ? [bytes.readUInt16BE(at + 2), 4]
          : [Number(bytes.readBigUInt64BE(at + 2)), 10];
    expect(length).toBeGreaterThan(headerBytes === 2 ? -1 : headerBytes === 4 ? 125 : 65_535);
    messages.push(bytes.subarray(at + headerBytes, at + headerBytes + length).toString());
    at += headerBytes + length;
  }
  return messages;
}

it.each([0, 1, 125, 126, 127, 128, 65_535, 65_536, 65_537, 1_000_000])(
  "a WebSocket frame is one text message of %i bytes",
  (length) => {
    const text = "x".repeat(length);
    expect(read(encodeTextFrame(text))).toEqual([text]);
    const wide = `${"ä".repeat(length >> 1)}${length % 2 === 0 ? "" : "x"}`;
    expect(read(encodeTextFrame(wide))).toEqual([wide]);
  },
);

it("WebSocket frames can be concatenated, and report errors and dropped frames", () => {
  expect(read(Buffer.concat([encodeTextFrame("a"), encodeTextFrame(""), encodeTextFrame("b")]))).toEqual([
    "a",
    "",
    "b",
  ]);
  const details = { field: "unit" };
  expect(read(encodeErrorFrame({ code: "FORBIDDEN", message: "no", details })).map((text) => JSON.parse(text))).toEqual(
    [{ type: "error", message: "no", error: { code: "FORBIDDEN", message: "no", details } }],
  );
  expect(read(encodeDroppedFrame(3)).map((text) => JSON.parse(text))).toEqual([
    { type: "dropped", message: expect.stringContaining("3 frames"), dropped: 3 },
  ]);
});
