import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { parseAs } from "#client/answer.ts";
import { ApiError } from "#client/errors.ts";
import { createClient } from "#client/index.ts";
import { UnreadFiles, unreadHeader } from "#contract/log-entry.ts";
import type { NotShown } from "#contract/schema.ts";
import { errorMessage } from "#kernel/errors.ts";
import { counted } from "#kernel/text.ts";
import { defined } from "#kernel/values.ts";
import type { Command } from "../core/command.ts";
import { explainError, isPassing } from "../core/errors.ts";
import { entriesOf } from "../core/journal-entries.ts";
import { patiently } from "../core/journal-pages.ts";
import type { Connection } from "../core/ports.ts";
import { printNoEntries } from "../output/log-format.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printNotShown, printUnread } from "../output/print.ts";
import type { ExploreFilters } from "./logs-explore.ts";

export interface ExportOptions {
  /** A file that is made. */
  readonly export?: string;
}

/** What is exported, as the service takes it. */
interface ExportRequest extends ExploreFilters {
  readonly format: keyof typeof entriesOf;
  readonly all: boolean;
  readonly cursor?: string;
}

/** The formats of exports by the names that journalctl has for them. */
const formats: Readonly<Record<string, ExportRequest["format"]>> = { export: "journal", json: "json" };
export const exportFormatOf = (output: string): ExportRequest["format"] | undefined => formats[output];

/** How often an export that was cut is continued where nothing more comes, and how long is waited before. */
const [mostAttempts, attemptMs] = [5, 1_000];

interface Exported {
  /** Where there is no journal. */
  readonly missing?: NotShown;
  readonly unread?: UnreadFiles;
  readonly count: number;
  readonly bytes: number;
  readonly cursor: string | undefined;
}

/** An export that was cut, and cannot be continued. */
class ExportCut extends Error {
  override readonly name = "ExportCut";
}

/** What an answer says of a host without a journal, where other commands about entries find none. */
function missingOf(error: unknown): NotShown | undefined {
  if (!(error instanceof ApiError) || error.code !== "UNAVAILABLE") return undefined;
  const { missing, reason } = error.details ?? {};
  return missing === "journal" && typeof reason === "string" ? [{ what: "entries", reason }] : undefined;
}

/** The files that an answer names as unread; undefined where it names none. @throws ApiError for another header than the service sends. */
function unreadIn(headers: Headers): UnreadFiles | undefined {
  const named = headers.get(unreadHeader);
  return named === null ? undefined : (parseAs(UnreadFiles, named) as UnreadFiles);
}

/**
 * Writes whole entries, and nothing else, as they come. A connection that is cut is made again, and the export continues after the
 * last entry.
 */
async function writeEntries(
  connection: Connection,
  asked: ExportRequest,
  { write, onCut }: { readonly write: (entries: Buffer) => void; readonly onCut: (error: unknown) => void },
): Promise<Exported> {
  const split = entriesOf[asked.format];
  let { cursor } = asked;
  let unread: UnreadFiles = [];
  const { fetch = globalThis.fetch } = connection;
  const client = createClient({
    ...connection,
    async fetch(...call) {
      const response = await fetch(...call);
      unread = unreadIn(response.headers) ?? unread;
      return response;
    },
  });
  let [count, bytes, attempts] = [0, 0, 0];
  for (;;) {
    try {
      const query = { ...asked, ...defined({ cursor }) };
      const body = await patiently(() => client.exportLogs({ query }));
      let arrived = Buffer.alloc(0);
      for await (const part of body) {
        arrived = Buffer.concat([arrived, part]);
        const whole = split(arrived);
        if (whole.count === 0) continue;
        write(arrived.subarray(0, whole.end));
        ({ cursor = cursor } = whole);
        count += whole.count;
        bytes += whole.end;
        arrived = arrived.subarray(whole.end);
        attempts = 0;
      }
      if (arrived.length > 0) throw new ExportCut("cannot read the export: it ends within an entry");
      return { unread, count, bytes, cursor };
    } catch (error) {
      const missing = missingOf(error);
      if (missing !== undefined) return { missing, count, bytes, cursor };
      attempts += 1;
      if (!isPassing(error) || attempts > mostAttempts) {
        const rest = cursor === undefined ? "" : ` (--after-cursor '${oneLine(cursor)}' continues)`;
        const why = `cannot continue with the export after ${counted(count, "entry", "entries")}: ${errorMessage(error)}${rest}`;
        throw count === 0 ? error : new ExportCut(why, { cause: error });
      }
      onCut(error);
      await connection.sleep(attemptMs * attempts, undefined);
    }
  }
}

const reportCut =
  ({ err }: Io) =>
  (error: unknown): void =>
    err(`steward: the export was cut: ${oneLine(explainError(error))}; going on\n`);

/** Prints all entries of a window, where no terminal reads them. */
export async function printExport(
  io: Io & { readonly raw: (bytes: Buffer) => void },
  connection: Connection,
  asked: ExportRequest,
): Promise<void> {
  const write = (entries: Buffer): void => io.raw(Buffer.from(entries));
  const { count, missing, unread } = await writeEntries(connection, asked, { write, onCut: reportCut(io) });
  if (count === 0) printNoEntries(io.err, missing);
  printUnread(io.err, unread);
}

/** Writes all entries of a window to a new file that only its owner can read. @throws Error where the file is there. */
export async function exportToFile(io: Io, connection: Connection, path: string, asked: ExportRequest): Promise<void> {
  const file = openSync(path, "wx", 0o600);
  try {
    const write = (entries: Buffer): void => {
      for (let at = 0; at < entries.length; ) at += writeSync(file, entries, at);
    };
    const { count, bytes, cursor, missing, unread } = await writeEntries(connection, asked, {
      write,
      onCut: reportCut(io),
    });
    fsyncSync(file);
    io.err(`-- ${counted(count, "entry", "entries")}, ${bytes} bytes in ${oneLine(path)} --\n`);
    printNotShown(io.err, missing);
    printUnread(io.err, unread);
    if (cursor !== undefined) io.err(`-- cursor: ${oneLine(cursor)} --\n`);
  } finally {
    closeSync(file);
  }
}

export function addExportOption(logs: Command): void {
  logs.option(
    "--export <file>",
    "all that match, however many, into a new file: in the export format, or with -o json in JSON",
  );
}
