import { execLines } from "#adapters/exec/index.ts";
import { createJournalctl, type Journalctl } from "#adapters/journald/journalctl.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import { fileKinds } from "./corpora.ts";

/** A signal that never comes. */
export const never = new AbortController().signal;

/** The kind of file of journals for journalctl. */
export const [kind] = fileKinds;

/** All of a journal, up to what a caller may ask for. */
export const all: LogQuery = {
  units: undefined,
  since: 0,
  until: 9e15,
  priority: undefined,
  identifier: undefined,
  boot: undefined,
  grep: undefined,
  cursor: undefined,
  order: "asc",
  limit: 1000,
};

/** Reads a directory by running journalctl. */
export const readerOf = (directory: string) =>
  createJournalctl({ execLines, directories: [directory], restartDelayMs: 50 });

/** What it answers, parsed. */
export async function ask(reader: Journalctl, query: LogQuery): Promise<unknown> {
  return JSON.parse(Buffer.from(await reader.query(query, never)).toString("utf8"));
}
