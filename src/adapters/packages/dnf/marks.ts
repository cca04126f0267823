import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isMissing, orUndefined } from "../files.ts";
import type { DnfPlaces } from "./places.ts";

/** Without the time of the last change to what is not content: dnf and rpm set that when they only read. */
async function contentMark(path: string): Promise<string> {
  const file = await orUndefined(stat(path, { bigint: true }), isMissing);
  return file === undefined ? `${path} -` : `${path} ${file.ino} ${file.size} ${file.mtimeNs}`;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return ((await orUndefined(readdir(folder), isMissing)) ?? []).sort();
}

/** A text that changes when rpm's database or dnf's history does, and not because somebody reads them. */
export async function databaseMark({ databases, history }: DnfPlaces): Promise<string> {
  const names = await Promise.all(
    databases.map(async (folder) => (await namesIn(folder)).map((name) => join(folder, name))),
  );
  // What readers share, and locks.
  const files = names.flat().filter((path) => !/-shm$|\.lock$/.test(path));
  const journal = join(history, "history.sqlite-wal");
  const hasJournal = (await orUndefined(stat(journal), isMissing)) !== undefined;
  // As long as there is a journal, changes are in there, and the file itself is written by readers.
  const last = hasJournal ? journal : join(history, "history.sqlite");
  return (await Promise.all([...files, last].map(contentMark))).join("\n");
}

/** A text that changes when other lists are downloaded. */
export async function listsMark({ lists }: DnfPlaces): Promise<string> {
  const names = await namesIn(lists);
  return (await Promise.all(names.map((name) => contentMark(join(lists, name, "repodata", "repomd.xml"))))).join("\n");
}
