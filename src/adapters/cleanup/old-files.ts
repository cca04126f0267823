import { lstat, readdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isSticky, isWritableByOthers } from "#adapters/files/index.ts";
import type { CleanedUp, CleanupCandidate } from "#domain/ports/storage.ts";
import { errnoCode, orUndefined } from "#kernel/errors.ts";
import { isKnownName, mayGo, type Rule } from "./rules.ts";

const maxFiles = 10_000;

async function isOwnFolder(path: string, owner: number): Promise<boolean> {
  const found = await orUndefined(lstat(path));
  if (found === undefined || !found.isDirectory() || (found.uid !== 0 && found.uid !== owner)) return false;
  return !isWritableByOthers(found) || isSticky(found);
}

async function isSafe(folder: string, owner: number): Promise<boolean> {
  if (!(await isOwnFolder(folder, owner))) return false;
  return dirname(folder) === folder || isSafe(dirname(folder), owner);
}

async function sizeOfOld(path: string, rule: Rule, nowMs: number): Promise<number | undefined> {
  const found = await orUndefined(lstat(path));
  return found !== undefined && mayGo(found, rule, nowMs) ? found.blocks * 512 : undefined;
}

export async function findOld(
  rule: Rule,
  ports: { nowMs: number; owner: number; inUse: () => Promise<ReadonlySet<string> | undefined>; signal: AbortSignal },
): Promise<CleanupCandidate | undefined> {
  const { nowMs, owner, inUse, signal } = ports;
  const { kind, folder } = rule;
  if (!(await isSafe(folder, owner))) return undefined;
  const sizes = new Map<string, number>();
  for (const name of (await readdir(folder)).filter((each) => isKnownName(each, rule)).sort()) {
    signal.throwIfAborted();
    const bytes = sizes.size < maxFiles ? await sizeOfOld(join(folder, name), rule, nowMs) : undefined;
    if (bytes !== undefined) sizes.set(name, bytes);
  }
  if (sizes.size === 0) return undefined;
  const used = await inUse();
  const left = [...sizes].filter(([name]) => used?.has(name) === false);
  if (left.length === 0) return undefined;
  return {
    kind,
    folder,
    files: left.map(([name]) => name),
    bytes: left.reduce((sum, [, bytes]) => sum + bytes, 0),
  };
}

/** Safe against links: only entries are removed, without following them, from directories that only root can rename in. */
export async function removeOld(
  { folder, files }: CleanupCandidate,
  rule: Rule,
  ports: { nowMs: number; owner: number; inUse: ReadonlySet<string> | undefined; signal: AbortSignal },
): Promise<CleanedUp> {
  const { nowMs, owner, inUse, signal } = ports;
  if (!(await isSafe(folder, owner))) throw new Error(`${folder} is not a directory that only root can write to`);
  if (inUse === undefined) throw new Error("it is unknown which files are in use: some processes are hidden");
  const removed = { files: 0, bytes: 0 };
  const failures: string[] = [];
  for (const name of files.filter((each) => isKnownName(each, rule) && !inUse.has(each))) {
    signal.throwIfAborted();
    const path = join(folder, name);
    const bytes = await sizeOfOld(path, rule, nowMs);
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
