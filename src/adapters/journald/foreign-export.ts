import { createJournalFormat, type JournalOutput } from "#adapters/journal-format/output.ts";
import { wholeEntry } from "#adapters/journal-format/whole-entry.ts";
import type { UnreadFiles } from "#contract/log-entry.ts";
import type { LogList } from "#contract/logs.ts";
import {
  anyEntries,
  type ExportFormat,
  type ExportPart,
  type ExportQuery,
  type LogQuery,
} from "#domain/ports/journal.ts";
import { parseCursor } from "./order.ts";

const outputs: Readonly<Record<ExportFormat, JournalOutput>> = { journal: "export", json: "json", text: "short-iso" };
/** Entries of a part, which are asked for as an answer. */
const entriesAtOnce = 500;

/** Writes a part of an export from an answer to a query, which also has what only journalctl reads. */
export async function exportForeign(
  query: ExportQuery,
  {
    ask,
    filesFrom,
    unread,
  }: {
    readonly ask: (query: LogQuery) => Promise<Uint8Array>;
    readonly filesFrom: (realtime: number) => readonly string[];
    readonly unread: () => UnreadFiles;
  },
): Promise<ExportPart> {
  const { format, all, position, units, namespace, since, until, priority, identifier, grep, template } = query;
  const boot = position?.boot ?? query.boot;
  const filters = { units, namespace, since, until, priority, identifier, grep, template, boot };
  const answerOf = async (asked: LogQuery): Promise<LogList> =>
    JSON.parse(Buffer.from(await ask(asked)).toString("utf8")) as LogList;
  const page: LogQuery = {
    ...filters,
    fields: "all",
    order: "asc",
    isFromOldest: true,
    limit: entriesAtOnce,
    cursor: position?.cursor ?? query.cursor,
  };
  const { logs } = await answerOf(page);
  const written = logs.at(-1)?.cursor ?? position?.written;
  const write = createJournalFormat(outputs[format], { all, fields: undefined }, position?.written);
  const parts: Buffer[] = [];
  for (const entry of logs) {
    const whole = await wholeEntry(entry, ({ entry: cursor, fields, offset }) =>
      answerOf({ ...anyEntries, limit: 1, entry: { cursor, offset }, fields: [fields] }),
    );
    parts.push(write(whole));
  }
  const last = logs.at(-1);
  const next = last && {
    cursor: last.cursor,
    written,
    boot: query.boot === undefined ? undefined : last.boot_id,
    files: filesFrom(parseCursor(last.cursor)?.realtime ?? 0),
  };
  return { bytes: Buffer.concat(parts), written, next, unread: unread() };
}
