import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { orUndefined } from "#kernel/errors.ts";
import { openNew, syncFolder, using } from "../packages/files.ts";

/** Reads a file of the state folder; undefined where there is none. */
export async function readStateFile(stateDir: string, name: string): Promise<string | undefined> {
  return orUndefined(readFile(join(stateDir, name), "utf8"));
}

/** Writes a file of the state folder anew, as a whole; on disk when it returns. The service and a task may do so at once. */
export async function writeStateFile(stateDir: string, name: string, text: string): Promise<void> {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const path = join(stateDir, name);
  const made = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await using(openNew(made), async (file) => {
      await file.writeFile(text);
      await file.sync();
    });
    await rename(made, path);
  } catch (error) {
    await rm(made, { force: true });
    throw error;
  }
  await syncFolder(stateDir);
}
