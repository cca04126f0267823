import type { ExportFormat, ExportPart, ExportQuery } from "#domain/ports/journal.ts";
import { everything } from "./known.ts";
import { never, type Reader } from "./reader.ts";

/** All of a journal in a format. */
export const exportOf = (format: ExportFormat, given: Partial<ExportQuery> = {}): ExportQuery => {
  const { units, since, until, priority, identifier, boot, grep } = everything;
  const filters = { units, since, until, priority, identifier, boot, grep };
  return { ...filters, format, all: false, cursor: undefined, position: undefined, ...given };
};

/** The parts of an export, one after the other. */
export async function* partsOf({ journal }: Pick<Reader, "journal">, query: ExportQuery): AsyncGenerator<ExportPart> {
  for (let position = query.position; ; ) {
    const part = await journal.export({ ...query, position }, never);
    yield part;
    if (part.next === undefined) return;
    position = part.next;
  }
}

export async function exported(reader: Pick<Reader, "journal">, query: ExportQuery): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const { bytes } of partsOf(reader, query)) parts.push(bytes);
  return Buffer.concat(parts);
}

const lineFeed = 0x0a;

/** The entries of an export in the Journal Export Format, each as it is written. */
export function splitExport(bytes: Buffer): readonly Buffer[] {
  const entries: Buffer[] = [];
  let start = 0;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(lineFeed, at);
    if (end < 0) throw new Error(`a line without an end at ${at}`);
    if (end === at) {
      entries.push(bytes.subarray(start, end));
      start = end + 1;
      at = start;
    } else if (bytes.subarray(at, end).includes("=")) at = end + 1;
    else at = end + 1 + 8 + Number(bytes.readBigUInt64LE(end + 1)) + 1;
  }
  if (start !== bytes.length) throw new Error("the last entry has no end");
  return entries;
}

/** The members of an entry in JSON in an order of their own: journalctl has them in none. */
export const canonicalLine = (line: string): string =>
  JSON.stringify(Object.entries(JSON.parse(line) as object).sort(([one], [other]) => (one < other ? -1 : 1)));
