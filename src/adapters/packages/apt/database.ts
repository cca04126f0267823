import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { orUndefined } from "#kernel/errors.ts";
import { marksOf } from "../files.ts";
import type { AptPaths } from "./paths.ts";
import type { DpkgEntry } from "./status-file.ts";
import { parseStatusFile, withUpdates } from "./status-file.ts";

/** What dpkg's own files say. */
export interface DpkgDatabase {
  readonly entries: readonly DpkgEntry[];
  /** Whether dpkg has written down changes that it has not yet taken into its status file: it is at work, or was stopped. */
  readonly hasUpdates: boolean;
  /** The same for as long as nothing has changed. */
  readonly mark: string;
}

/** Reads dpkg's database, and what has not changed only once: the file of a large host has some megabytes. */
export function createDatabase(paths: Pick<AptPaths, "status" | "updates">): () => Promise<DpkgDatabase> {
  let last: { readonly mark: string; readonly entries: readonly DpkgEntry[] } | undefined;

  const statusEntries = async (): Promise<readonly DpkgEntry[]> => {
    const mark = await marksOf([paths.status]);
    if (last?.mark !== mark) last = { mark, entries: parseStatusFile(await readFile(paths.status, "utf8")) };
    return last.entries;
  };

  const updates = async (): Promise<readonly DpkgEntry[]> => {
    const names = (await orUndefined(readdir(paths.updates))) ?? [];
    const numbered = names.filter((name) => /^\d+$/.test(name)).sort();
    // dpkg removes them when it has taken them up, which may be just now.
    const texts = await Promise.all(numbered.map((name) => orUndefined(readFile(join(paths.updates, name), "utf8"))));
    return texts.flatMap((text) => parseStatusFile(text ?? ""));
  };

  return async () => {
    // What changes while it is read is read again the next time.
    const mark = await marksOf([paths.status, paths.updates]);
    const entries = await statusEntries();
    const changes = await updates();
    return { entries: withUpdates(entries, changes), hasUpdates: changes.length > 0, mark };
  };
}
