import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandOptions } from "#adapters/exec/index.ts";
import { orUndefined } from "#kernel/errors.ts";
import type { Described, Lists } from "../catalog.ts";
import { describedCount, describedOf, listsFormat } from "./described.ts";
import { isPackageName, nevraOf } from "./names.ts";
import { orWithoutLists } from "./offers.ts";
import { createMarks, createRecordReader, parseRecords } from "./records.ts";

/** The lists as every dnf tells of them. */
export function createRepoqueryLists(host: {
  /** Runs dnf. @throws NoLists. */
  readonly ask: (
    words: readonly string[],
    signal: AbortSignal,
    options?: Pick<CommandOptions, "onOutput">,
  ) => Promise<string>;
  /** The word with which what is held is in the lists as well. */
  readonly withHeld: string;
}): Lists {
  const { ask, withHeld } = host;

  const listed = async (name: string, words: readonly string[], signal: AbortSignal): Promise<readonly Described[]> => {
    const marks = createMarks();
    const query = ["repoquery", `--queryformat=${listsFormat(marks)}`, "--available", ...words, "--", name];
    const text = await orWithoutLists(ask(query, signal), "");
    return parseRecords(text, marks, describedCount)
      .map(describedOf)
      .filter((each) => each.name === name);
  };

  return {
    async each(take, signal) {
      const marks = createMarks();
      const reader = createRecordReader(marks, describedCount, (fields) => take(describedOf(fields)));
      const query = ["repoquery", `--queryformat=${listsFormat(marks)}`, "--available", "--latest-limit=1"];
      await ask(query, signal, { onOutput: reader.take });
      reader.end();
    },

    async named(name, signal) {
      const versions = await listed(name, [withHeld], signal);
      const candidates = versions.length === 0 ? [] : await listed(name, [], signal);
      const records = new Map(versions.map((each) => [nevraOf(each), each]));
      return { versions, candidates, described: (found) => records.get(nevraOf(found)) };
    },
  };
}

/** Names in files `*.conf` of folders, one a line. */
export async function namesInFolders(folders: readonly string[]): Promise<readonly string[]> {
  const paths = await Promise.all(
    folders.map(async (folder) =>
      ((await orUndefined(readdir(folder))) ?? [])
        .filter((name) => name.endsWith(".conf"))
        .map((name) => join(folder, name)),
    ),
  );
  const texts = await Promise.all(paths.flat().map((path) => orUndefined(readFile(path, "utf8"))));
  return texts.flatMap((text) => (text ?? "").split("\n").map((line) => line.trim())).filter(isPackageName);
}
