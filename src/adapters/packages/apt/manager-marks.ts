import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "#adapters/files/index.ts";
import { orUndefined } from "#kernel/errors.ts";
import { isPackageName } from "./names.ts";

/**
 * Which packages have to be marked as not asked for once a transaction is over. They are written down before it begins: of a
 * package that was not yet set up when it broke off apt takes no such mark.
 */
export function createMarks(folder: string) {
  const pathOf = (unit: string): string => join(folder, `${unit}.auto`);

  const read = async (unit: string): Promise<readonly string[]> => {
    const text = (await orUndefined(readFile(pathOf(unit), "utf8"))) ?? "";
    return text.split("\n").filter(isPackageName);
  };

  return {
    read,
    /** Those of an earlier attempt at the same transaction stay. */
    async remember(unit: string, words: readonly string[]): Promise<void> {
      const all = [...new Set([...(await read(unit)), ...words])];
      if (all.length === 0) return;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      writeFileAtomic(pathOf(unit), all.map((word) => `${word}\n`).join(""));
    },
    forget: (unit: string): Promise<void> => rm(pathOf(unit), { force: true }),
  };
}

export type Marks = ReturnType<typeof createMarks>;
