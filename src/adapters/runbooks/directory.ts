import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Look } from "#adapters/exec/look.ts";
import { isWritableByOthers, readRegularFile } from "#adapters/files/index.ts";
import { runbookIdPattern } from "#contract/runbooks.ts";
import { errnoCode, errorMessage } from "#kernel/errors.ts";

export const suffix = ".md";
const mostFiles = 200;
const maxBytes = 32 * 1024;
const id = new RegExp(runbookIdPattern);

/** The text of a file; null for a directory that was read to its end. */
export type RunbookAnswer = { readonly text: string } | { readonly fault: string } | null;

const openToOthers = "others than its owner may write to it (chmod go-w)";

function textAt(path: string, name: string): RunbookAnswer {
  try {
    if (!id.test(name.slice(0, -suffix.length)))
      return { fault: "its name has more than 64 characters, or others than A-Z a-z 0-9 . _ - (rename it)" };
    const { content, stat } = readRegularFile(path, { maxBytes, followsLinks: false });
    if (isWritableByOthers(stat)) return { fault: openToOthers };
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(content) };
  } catch (error) {
    return { fault: error instanceof TypeError ? "it is not UTF-8" : errorMessage(error) };
  }
}

const isShown = (name: string): boolean => name.endsWith(suffix) && !name.startsWith(".");

/** The runbooks in a directory, each before the directory itself. */
export const runbooksOfDirectory: Look<string, RunbookAnswer> = {
  name: "runbooks",
  look(directory, { begin, answer }) {
    if (!begin(directory)) return;
    try {
      if (isWritableByOthers(statSync(directory))) return answer(directory, { fault: openToOthers });
      const names = readdirSync(directory).filter(isShown).sort();
      for (const name of names.slice(0, mostFiles)) {
        const path = join(directory, name);
        if (begin(path)) answer(path, textAt(path, name));
      }
      const left = names.length - mostFiles;
      answer(directory, left > 0 ? { fault: `it has ${left} files more than the ${mostFiles} that are read` } : null);
    } catch (error) {
      answer(directory, errnoCode(error) === "ENOENT" ? null : { fault: errorMessage(error) });
    }
  },
};
