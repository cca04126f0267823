import { lstatSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isSticky, isWritableByOthers } from "#adapters/files/index.ts";
import type { CleanedUp, CleanupCandidate } from "#domain/ports/storage.ts";
import { errnoCode, orUndefinedSync } from "#kernel/errors.ts";
import { isKnownName, mayGo, type Rule } from "./rules.ts";

export const maxFiles = 10_000;

function isOwnDirectory(path: string, owner: number): boolean {
  const found = orUndefinedSync(() => lstatSync(path));
  if (found === undefined || !found.isDirectory() || (found.uid !== 0 && found.uid !== owner)) return false;
  return !isWritableByOthers(found) || isSticky(found);
}

/** Whether only root can put something else in the place of a directory. */
export const isSafe = (directory: string, owner: number): boolean =>
  isOwnDirectory(directory, owner) && (dirname(directory) === directory || isSafe(dirname(directory), owner));

/** Undefined for a file that may not go. */
export function sizeOfOld(path: string, rule: Rule, nowMs: number): number | undefined {
  const found = orUndefinedSync(() => lstatSync(path));
  return found !== undefined && mayGo(found, rule, nowMs) ? found.blocks * 512 : undefined;
}

/** @param sizes of the files of the directory that may go, by name. */
export async function candidatesOf(
  { kind, directory }: Rule,
  sizes: ReadonlyMap<string, number>,
  inUse: () => Promise<ReadonlySet<string> | undefined>,
): Promise<readonly CleanupCandidate[]> {
  if (sizes.size === 0) return [];
  const used = await inUse();
  const left = [...sizes].filter(([name]) => used?.has(name) === false).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (left.length === 0) return [];
  const files = left.map(([name]) => name);
  return [{ kind, directory, files, bytes: left.reduce((sum, [, bytes]) => sum + bytes, 0) }];
}

/** Safe against links: only entries are removed, without following them, from directories that only root can rename in. */
export async function removeOld(
  { directory, files }: CleanupCandidate,
  rule: Rule,
  ports: { nowMs: number; owner: number; inUse: ReadonlySet<string> | undefined; signal: AbortSignal },
): Promise<CleanedUp> {
  const { nowMs, owner, inUse, signal } = ports;
  if (!isSafe(directory, owner)) throw new Error(`${directory} is not a directory that only root can write to`);
  if (inUse === undefined) throw new Error("it is unknown which files are in use: some processes are hidden");
  const removed = { files: 0, bytes: 0 };
  const failures: string[] = [];
  for (const name of files.filter((each) => isKnownName(each, rule) && !inUse.has(each))) {
    signal.throwIfAborted();
    const path = join(directory, name);
    const bytes = sizeOfOld(path, rule, nowMs);
    if (bytes === undefined) continue;
    try {
      await unlink(path);
      removed.files += 1;
      removed.bytes += bytes;
    } catch (error) {
      if (errnoCode(error) !== "ENOENT") failures.push(`${path}: ${String(errnoCode(error) ?? error)}`);
    }
  }
  const [first] = failures;
  if (first === undefined) return removed;
  throw new Error(`${failures.length} of ${files.length} files could not be removed (${first})`);
}
