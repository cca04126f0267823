import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { orUndefined } from "#kernel/errors.ts";

async function markOf(path: string): Promise<string> {
  const file = await orUndefined(stat(path, { bigint: true }));
  return file === undefined ? `${path} -` : `${path} ${file.ino} ${file.size} ${file.mtimeNs} ${file.ctimeNs}`;
}

/** A text that changes when one of the files does, or a file in one of the folders. Whether they are there is part of it. */
export async function marksOf(paths: readonly string[]): Promise<string> {
  const marks = await Promise.all(
    paths.map(async (path) => {
      const names = (await orUndefined(readdir(path))) ?? [];
      return [await markOf(path), ...(await Promise.all(names.sort().map((name) => markOf(join(path, name)))))];
    }),
  );
  return marks.flat().join("\n");
}

/** The first few of what failed, as one text: the rest is counted. */
export function joinFailures(failures: readonly string[], most = 3): string {
  const more = failures.length > most ? [`and ${failures.length - most} more scripts`] : [];
  return [...failures.slice(0, most), ...more].join("; ");
}
