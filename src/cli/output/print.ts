import type { UnreadFiles } from "#contract/log-entry.ts";
import type { NotShown } from "#contract/schema.ts";
import { type Io, oneLine, severalLines } from "./output.ts";
import { withLocalTimes } from "./text.ts";

/** Prints an answer of any length as it comes: byte for byte in a pipe, without anything that a terminal interprets at one. */
export async function printBytes(io: Io, body: AsyncIterable<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  for await (const part of body) {
    if (io.raw === undefined) io.out(severalLines(decoder.decode(part, { stream: true })));
    else io.raw(Buffer.from(part.buffer, part.byteOffset, part.length));
  }
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(textOf).join(", ");
  return typeof value === "string" ? withLocalTimes(value) : JSON.stringify(value);
}

/** Prints the members of one thing, a line for each, with their names in a column. */
export function printFields(io: Io, members: object): void {
  const entries = Object.entries(members).map(([name, value]) => [name.replaceAll("_", " "), textOf(value)] as const);
  const width = Math.max(...entries.map(([name]) => name.length));
  for (const [name, text] of entries) io.out(`${oneLine(name).padEnd(width)}  ${oneLine(text)}\n`);
}

/** Prints what an answer says of itself. */
export const printMessage = (io: Io, { message }: { readonly message: string }): void =>
  io.out(`${oneLine(message)}\n`);

/** Says what an answer lacks, a line for each. */
export function printNotShown(write: (text: string) => void, missing: NotShown = []): void {
  for (const { what, reason } of missing) write(`${oneLine(`not shown: ${what}: ${reason}`)}\n`);
}

/** Says which files of the journal could not be read for an answer, a line for each. */
export function printUnread(write: (text: string) => void, unread: UnreadFiles = []): void {
  for (const { file, reason } of unread) write(`${oneLine(`not read: ${file}: ${reason}`)}\n`);
}
