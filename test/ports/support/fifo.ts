import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { open } from "node:fs/promises";

/** Puts a named pipe in the place of a file: whoever opens it to read waits for a writer. */
export function writeFifo(path: string): void {
  rmSync(path, { force: true });
  execFileSync("mkfifo", [path]);
}

/** Lets whoever waits go on, with nothing to read. */
export async function releaseFifo(path: string): Promise<void> {
  await (await open(path, "r+")).close();
}
