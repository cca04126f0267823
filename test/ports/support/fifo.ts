import { execFileSync } from "node:child_process";
import { constants, openSync, rmSync } from "node:fs";

/**
 * Puts a named pipe in the place of a file: anyone who reads it waits, as long as what is returned is open.
 * @returns a descriptor to close.
 */
export function holdFifo(path: string): number {
  rmSync(path, { force: true });
  execFileSync("mkfifo", [path]);
  return openSync(path, constants.O_RDWR);
}
