import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { orUndefined } from "#kernel/errors.ts";

/** Its last word is the time of the last change to anything, `-` where the file is missing. */
async function markOf(path: string): Promise<string> {
  const file = await orUndefined(stat(path, { bigint: true }));
  return file === undefined ? `${path} -` : `${path} ${file.ino} ${file.size} ${file.mtimeNs} ${file.ctimeNs}`;
}

/** A string that changes when one of the files does, or a file in one of the directories. Whether they are there is part of it. */
export async function marksOf(paths: readonly string[]): Promise<string> {
  const marks = await Promise.all(
    paths.map(async (path) => {
      const names = (await orUndefined(readdir(path))) ?? [];
      return [await markOf(path), ...(await Promise.all(names.sort().map((name) => markOf(join(path, name)))))];
    }),
  );
  return marks.flat().join("\n");
}

export function rememberByMark<T>(): (mark: string, work: () => Promise<T>) => Promise<T> {
  let last: { readonly mark: string; readonly value: T } | undefined;
  return async (mark, work) => {
    if (last?.mark !== mark) last = { mark, value: await work() };
    return last.value;
  };
}

/** Without the time of the last change to what is not content: package managers set that when they only read. */
export const contentMark = async (path: string): Promise<string> => (await markOf(path)).replace(/ \d+$/, "");

export async function sortedNames(directory: string): Promise<readonly string[]> {
  return ((await orUndefined(readdir(directory))) ?? []).sort();
}

export async function databaseFiles(directories: readonly string[]): Promise<readonly string[]> {
  const names = await Promise.all(
    directories.map(async (directory) => (await sortedNames(directory)).map((name) => join(directory, name))),
  );
  return names.flat().filter((path) => !/-shm$|\.lock$/.test(path));
}
