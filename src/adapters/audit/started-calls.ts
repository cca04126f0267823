import { closeSync, fstatSync, openSync, readdirSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { preparePrivateDirectory } from "#adapters/files/index.ts";
import type { StartedCall } from "#domain/ports/audit.ts";
import type { Dispose } from "#kernel/clock.ts";
import { orUndefinedSync } from "#kernel/errors.ts";
import { parseEntry } from "./chain.ts";
import { openNew, readFlags } from "./files.ts";

const maxBytes = 64 * 1024;
const maxLeft = 10_000;

const removeNote = (path: string): void => orUndefinedSync(() => unlinkSync(path));

function readLeft(path: string): StartedCall["entry"] | undefined {
  const handle = openSync(path, readFlags);
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile() || stat.size > maxBytes) return undefined;
    return parseEntry(readFileSync(handle, "utf8"));
  } finally {
    closeSync(handle);
  }
}

/** Notes of the calls in progress, a file for each: what is left of them after a crash says what was started. */
export function openStartedCalls(stateDir: string) {
  // Beside the log: in its own directory nothing can be removed where it is for appending only.
  const directory = join(stateDir, "audit-begun");
  preparePrivateDirectory(directory);
  const left: readonly StartedCall[] = readdirSync(directory, { withFileTypes: true })
    .filter((each) => each.isFile())
    .slice(0, maxLeft)
    .flatMap(({ name }) => {
      const path = join(directory, name);
      const entry = readLeft(path);
      if (entry !== undefined) return [{ entry, forget: () => removeNote(path) }];
      removeNote(path);
      return [];
    })
    .sort((a, b) => Date.parse(a.entry.time) - Date.parse(b.entry.time));
  const prefix = `${process.pid}-${Date.now().toString(36)}`;
  let count = 0;
  return {
    left,
    begin(entry: StartedCall["entry"]): Dispose {
      count += 1;
      const path = join(directory, `${prefix}-${count}`);
      const bytes = Buffer.from(JSON.stringify(entry));
      const handle = openNew(path);
      try {
        if (writeSync(handle, bytes) < bytes.length) throw new Error("there is no space for a complete note");
      } catch (error) {
        removeNote(path);
        throw error;
      } finally {
        closeSync(handle);
      }
      return () => removeNote(path);
    },
  };
}
