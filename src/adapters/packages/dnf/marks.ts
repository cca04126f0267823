import { stat } from "node:fs/promises";
import { join } from "node:path";
import { orUndefined } from "#kernel/errors.ts";
import { contentMark, databaseFiles, namesIn } from "../rpm/marks.ts";
import type { DnfPlaces } from "./places.ts";

/** A text that changes when rpm's database or dnf's history does, and not because somebody reads them. */
export async function databaseMark({ databases, history }: DnfPlaces): Promise<string> {
  const files = await databaseFiles(databases);
  const journal = join(history, "history.sqlite-wal");
  const hasJournal = (await orUndefined(stat(journal))) !== undefined;
  // As long as there is a journal, changes are in there, and the file itself is written by readers.
  const last = hasJournal ? journal : join(history, "history.sqlite");
  return (await Promise.all([...files, last].map(contentMark))).join("\n");
}

/** A text that changes when other lists are downloaded. */
export async function listsMark({ lists }: DnfPlaces): Promise<string> {
  const names = await namesIn(lists);
  return (await Promise.all(names.map((name) => contentMark(join(lists, name, "repodata", "repomd.xml"))))).join("\n");
}
