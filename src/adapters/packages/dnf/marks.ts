import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { orUndefined } from "#kernel/errors.ts";
import { contentMark, databaseFiles, sortedNames } from "../common/marks.ts";

/**
 * A text that changes when rpm's database or the history does, and not because somebody reads them.
 * @param history the file of its database.
 */
export async function databaseMark(databases: readonly string[], history: string): Promise<string> {
  const files = await databaseFiles(databases);
  const journal = `${history}-wal`;
  const hasJournal = (await orUndefined(stat(journal))) !== undefined;
  // As long as there is a journal, changes are in there, and the file itself is written by readers.
  return (await Promise.all([...files, hasJournal ? journal : history].map(contentMark))).join("\n");
}

/** @param lists a folder with one of each repository. */
export async function listsMark(lists: string): Promise<string> {
  const names = await sortedNames(lists);
  return (await Promise.all(names.map((name) => contentMark(join(lists, name, "repodata", "repomd.xml"))))).join("\n");
}

export async function listsAt(lists: string): Promise<number | undefined> {
  const names = (await orUndefined(readdir(lists))) ?? [];
  const times = await Promise.all(names.map((name) => newestIn(join(lists, name, "repodata"))));
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Where dnf has asked and nothing was new, it sets the time of one of the files. */
async function newestIn(folder: string): Promise<number | undefined> {
  const names = (await orUndefined(readdir(folder))) ?? [];
  const files = await Promise.all(names.map((name) => orUndefined(stat(join(folder, name)))));
  const times = files.flatMap((file) => file?.mtimeMs ?? []);
  return times.length === 0 ? undefined : Math.floor(Math.max(...times));
}
