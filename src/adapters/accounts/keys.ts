import type { Look } from "#adapters/exec/look.ts";
import { readRegularFile } from "#adapters/files/index.ts";
import type { AuthorizedKey } from "#domain/ports/accounts.ts";
import { isNotFound } from "#kernel/errors.ts";
import { parseAuthorizedKeys } from "./authorized-keys.ts";

const mostKeyBytes = 256 * 1024;

/** Null where one of the files cannot be read. One who owns the home chooses what is there: only keys are read of it. */
function keysIn(files: readonly string[]): readonly AuthorizedKey[] | null {
  const keys: AuthorizedKey[] = [];
  for (const file of files) {
    if (!file.startsWith("/") || file.includes("\0")) continue;
    try {
      const { content } = readRegularFile(file, { maxBytes: mostKeyBytes, followsLinks: false });
      keys.push(...parseAuthorizedKeys(content.toString("utf8")));
    } catch (error) {
      if (!isNotFound(error)) return null;
    }
  }
  return keys;
}

/** What the files of one account are called in a look: those that hang are mostly in one directory, and count once. */
export const placeOf = (files: readonly string[]): string => files.join("\0");

interface FilesWanted {
  readonly places: readonly (readonly string[])[];
  /** Of all: when there are more, those that are left are not read. */
  readonly mostKeys: number;
}

export const keysOfFiles: Look<FilesWanted, readonly AuthorizedKey[] | null> = {
  name: "keys",
  look({ places, mostKeys }, { begin, answer }) {
    let count = 0;
    for (const files of places) {
      const place = placeOf(files);
      if (count > mostKeys || !begin(place)) continue;
      const keys = keysIn(files);
      count += keys?.length ?? 0;
      answer(place, keys);
    }
  },
};
