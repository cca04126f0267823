import type { Engine } from "#adapters/journald/engine.ts";
import type { LogList } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import type { JournalFolder } from "./corpora.ts";
import { always, type CursorPosition, dumpJournal, type KnownEntry, positionOf, type Source } from "./oracle.ts";

const size = process.env["STEWARD_JOURNAL_TESTS"];
/** Takes many minutes, see README.md. */
export const isLong = size === "long";
/** How much is tried: in `npm test`, in the project `long`, and with `STEWARD_JOURNAL_TESTS=long`. */
export const bySize = <T>(short: T, more: T, long: T): T => (isLong ? long : size === "more" ? more : short);
/** The same of what runs in the project `long` alone. */
export const byLength = <T>(usual: T, long: T): T => (isLong ? long : usual);

/** All of a journal, up to the greatest limit. */
export const everything: LogQuery = {
  ...always,
  units: undefined,
  priority: undefined,
  identifier: undefined,
  boot: undefined,
  grep: undefined,
  cursor: undefined,
  order: "asc",
  limit: 10_000,
};

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws TypeError when the answer is not valid UTF-8. */
export function answerOf(engine: Engine, query: LogQuery): LogList {
  return JSON.parse(decoder.decode(engine.query(query))) as LogList;
}

/** A folder of journals, and all that journalctl knows of it. */
export interface Known {
  readonly folder: JournalFolder;
  readonly source: Source;
  readonly all: readonly KnownEntry[];
  readonly positionOf: (cursor: string | undefined) => CursorPosition | undefined;
}

export function known(folder: JournalFolder): Known {
  const source = ["-D", folder.path] as const;
  const all = dumpJournal(source);
  const positions = new Map<string, CursorPosition>();
  return {
    folder,
    source,
    all,
    positionOf(cursor) {
      if (cursor === undefined) return undefined;
      const position = positions.get(cursor) ?? positionOf(source, all, cursor);
      positions.set(cursor, position);
      return position;
    },
  };
}

export const cursorsOf = (entries: readonly KnownEntry[]): readonly string[] =>
  entries.map(({ entry }) => entry.cursor);
