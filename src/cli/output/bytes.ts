import { type Io, severalLines } from "./output.ts";

/** Prints an answer of any length as it comes: byte for byte in a pipe, without anything that a terminal interprets at one. */
export async function printBytes(io: Io, body: AsyncIterable<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  for await (const part of body) {
    if (io.raw === undefined) io.out(severalLines(decoder.decode(part, { stream: true })));
    else io.raw(Buffer.from(part.buffer, part.byteOffset, part.length));
  }
}
