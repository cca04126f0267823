import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "#adapters/files/index.ts";
import { orUndefined } from "#kernel/errors.ts";

export const readStateFile = (stateDir: string, name: string): Promise<string | undefined> =>
  orUndefined(readFile(join(stateDir, name), "utf8"));

/** Replaces a file of the state folder; on disk when it returns. The service and a task may do so at once. */
export function writeStateFile(stateDir: string, name: string, text: string): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileAtomic(join(stateDir, name), text);
}
