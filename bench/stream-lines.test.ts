import { expect, test } from "vitest";
import { createFrameReader, createNumberReader, textOfLine } from "./stream-lines.ts";

/** A frame as a server sends it. */
function frame(opcode: number, payload: string): Buffer {
  const bytes = Buffer.from(payload);
  const { length } = bytes;
  if (length < 126) return Buffer.concat([Buffer.from([0x80 | opcode, length]), bytes]);
  const header = Buffer.alloc(length < 65_536 ? 4 : 10);
  header[0] = 0x80 | opcode;
  header[1] = length < 65_536 ? 126 : 127;
  if (length < 65_536) header.writeUInt16BE(length, 2);
  else header.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([header, bytes]);
}

function readAll(chunks: readonly Buffer[]): { texts: string[]; pings: number } {
  const texts: string[] = [];
  let pings = 0;
  const take = createFrameReader({
    onText: (bytes, start, end) => texts.push(bytes.toString("utf8", start, end)),
    onPing: () => {
      pings += 1;
    },
  });
  for (const chunk of chunks) take(chunk);
  return { texts, pings };
}

const texts = ["a", "b".repeat(125), "c".repeat(126), "d".repeat(70_000), ""];
const wire = Buffer.concat([...texts.slice(0, 3).map((text) => frame(1, text)), frame(9, "ping")]);
const rest = Buffer.concat(texts.slice(3).map((text) => frame(1, text)));

const piecesOf = (bytes: Buffer, size: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));

test.each([1, 2, 3, 127, 4096, 1_000_000])("frames are whole however they come, in pieces of %d bytes", (size) => {
  const bytes = Buffer.concat([wire, rest]);
  // All headers are within the first and the last 500 bytes: what is between them need not come byte by byte.
  const middle = bytes.subarray(500, -500);
  const chunks = [...piecesOf(bytes.subarray(0, 500), size), middle, ...piecesOf(bytes.subarray(-500), size)];
  expect(readAll(chunks)).toEqual({ texts, pings: 1 });
});

test("a line is found by its number wherever it stands in the frame", () => {
  const numberOf = createNumberReader();
  const read = (before: string, text: string): number | undefined => {
    const bytes = Buffer.from(`xx${before}${text}"}yy`);
    return numberOf(bytes, 2, bytes.length - 2);
  };
  expect([
    read('{"message":"', textOfLine(7, 40)),
    read('{"message":"', textOfLine(123_456_789, 40)),
    read('{"cursor":"ab","message":"', textOfLine(8, 40)),
    read('{"type":"', "dropped"),
  ]).toEqual([7, 123_456_789, 8, undefined]);
});

test("lines are of the length that is asked for", () => {
  expect([textOfLine(1, 40).length, textOfLine(999_999_999, 60_000).length]).toEqual([40, 60_000]);
});
