import { closeSync, fstatSync, openSync, readdirSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { preparePrivateDirectory } from "#adapters/files/index.ts";
import type { BegunCall } from "#domain/ports/audit.ts";
import type { Dispose } from "#kernel/clock.ts";
import { orUndefinedSync } from "#kernel/errors.ts";
import { parseEntry } from "./chain.ts";
import { openNew, readFlags } from "./files.ts";

const maxBytes = 64 * 1024;
const maxLeft = 10_000;

const removeNote = (path: string): void => orUndefinedSync(() => unlinkSync(path));

function readLeft(path: string): BegunCall["entry"] | undefined {
  const handle = openSync(path, readFlags);
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile() || stat.size > maxBytes) return undefined;
    return parseEntry(readFileSync(handle, "utf8"));
  } finally {
    closeSync(handle);
  }
}

/** Notes of the calls in progress, a file for each: what is left of them after a crash says what was begun. */
export function openBegunCalls(stateDir: string) {
  // Beside the log: in its own folder nothing can be removed where it is for appending only.
  const folder = join(stateDir, "audit-begun");
  preparePrivateDirectory(folder);
  const left: readonly BegunCall[] = readdirSync(folder, { withFileTypes: true })
    .filter((each) => each.isFile())
    .slice(0, maxLeft)
    .flatMap(({ name }) => {
      const path = join(folder, name);
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
    begin(entry: BegunCall["entry"]): Dispose {
      count += 1;
      const path = join(folder, `${prefix}-${count}`);
      const bytes = Buffer.from(JSON.stringify(entry));
      const handle = openNew(path);
      try {
        if (writeSync(handle, bytes) < bytes.length) throw new Error("there is no room for a whole note");
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
