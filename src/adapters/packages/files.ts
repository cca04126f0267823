import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "ESRCH");

/** What the promise gives; undefined where it fails for a reason that is allowed. */
export async function orUndefined<T>(work: Promise<T>, isAllowed: (error: unknown) => boolean): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isAllowed(error)) return undefined;
    throw error;
  }
}

async function markOf(path: string): Promise<string> {
  const file = await orUndefined(stat(path, { bigint: true }), isMissing);
  return file === undefined ? `${path} -` : `${path} ${file.ino} ${file.size} ${file.mtimeNs} ${file.ctimeNs}`;
}

/** A text that changes when one of the files does, or a file in one of the folders. Whether they are there is part of it. */
export async function marksOf(paths: readonly string[]): Promise<string> {
  const marks = await Promise.all(
    paths.map(async (path) => {
      const names = (await orUndefined(readdir(path), isMissing)) ?? [];
      return [await markOf(path), ...(await Promise.all(names.sort().map((name) => markOf(join(path, name)))))];
    }),
  );
  return marks.flat().join("\n");
}
