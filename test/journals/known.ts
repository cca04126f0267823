import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "#adapters/journald/engine.ts";
import type { LogList } from "#contract/logs.ts";
import type { LogQuery } from "#domain/ports/journal.ts";
import type { JournalDirectory } from "./corpora.ts";
import { always, type CursorPosition, dumpJournal, type KnownEntry, positionOf, type Source } from "./oracle.ts";
import { decoded } from "./reader.ts";

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

/** @throws TypeError when the answer is not valid UTF-8. */
export const answerOf = (engine: Engine, query: LogQuery): LogList => decoded(engine.query(query));

/** A directory of journals, and all that journalctl knows of it. */
export interface Known {
  readonly directory: JournalDirectory;
  readonly source: Source;
  readonly all: readonly KnownEntry[];
  readonly positionOf: (cursor: string | undefined) => CursorPosition | undefined;
}

export function known(directory: JournalDirectory): Known {
  const source = ["-D", directory.path] as const;
  const all = dumpJournal(source);
  const positions = new Map<string, CursorPosition>();
  return {
    directory,
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

/** What names an entry in whichever file it is. */
export const identityOf = (cursor: string): string => cursor.replace(/^s=[^;]*;i=[^;]*;/, "");

/**
 * The entries of files that hold copies of others' entries, in the order of time: each as often as the file that has most of it.
 * journalctl, asked for all files at once, gives some twice and loses others.
 */
export function knownOfCopies(directory: string): readonly KnownEntry[] {
  const all = new Map<string, KnownEntry>();
  for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".journal")) continue;
    const seen = new Map<string, number>();
    for (const each of dumpJournal(["--file", join(directory, name)])) {
      const identity = identityOf(each.entry.cursor);
      const number = (seen.get(identity) ?? 0) + 1;
      seen.set(identity, number);
      all.set(`${identity} ${number}`, each);
    }
  }
  return [...all.values()].toSorted((left, right) => left.realtime - right.realtime);
}

export const cursorsOf = (entries: readonly KnownEntry[]): readonly string[] =>
  entries.map(({ entry }) => entry.cursor);
