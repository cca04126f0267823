import { type FileHandle, lstat, readlink } from "node:fs/promises";
import { isAbsolute, normalize, relative } from "node:path";
import { createTwoFilesPatch } from "diff";
import { redact } from "#domain/common/redact.ts";
import type { FileComparison, FileState } from "#domain/ports/snapshots.ts";
import { errnoCode, isNotFound } from "#kernel/errors.ts";
import { lastPart, openBelow, openFile, parentPart, pathWithin, using } from "./files.ts";
import type { Manifest } from "./manifest.ts";
import type { Store } from "./store.ts";
import { isKeptOut, type TreeEntry } from "./tree.ts";

const maxBytes = 256 * 1024;
/** Lines that are added or removed: the work grows with their number times the length of the file. */
const maxEdits = 2_000;
const forOthers = 0o001;
const readableByOthers = 0o004;

/** One side of a comparison. `text` is undefined where `withheld` says why. */
interface Side {
  readonly state: FileState;
  readonly text?: string;
  readonly withheld?: string;
}

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, "0");

const notForAll = "it is shown only where every user of the host may read it";

async function readText(file: FileHandle, size: number): Promise<Pick<Side, "text" | "withheld">> {
  if (size > maxBytes) return { withheld: `it is larger than ${maxBytes / 1024} KiB` };
  const bytes = Buffer.alloc(maxBytes);
  const { bytesRead } = await file.read(bytes, 0, maxBytes, 0);
  const text = bytes.toString("utf8", 0, bytesRead);
  return text.includes("\0") || text.includes("\ufffd") ? { withheld: "it is not text" } : { text };
}

const linkSide = (uid: number, gid: number, target: string, isReachable: boolean): Side => ({
  state: { type: "link", uid, gid },
  ...(isReachable ? { text: `${target}\n` } : { withheld: notForAll }),
});

const directorySide = (uid: number, gid: number, mode: number): Side => ({
  state: { type: "folder", uid, gid, mode: octal(mode) },
  withheld: "it is a directory",
});

async function fileSide(
  { uid, gid, mode, size }: { uid: number; gid: number; mode: number; size: number },
  isReachable: boolean,
  read: (size: number) => Promise<Pick<Side, "text" | "withheld">>,
): Promise<Side> {
  const state: FileState = { type: "file", uid, gid, mode: octal(mode) };
  if (!isReachable || (mode & readableByOthers) === 0) return { state, withheld: notForAll };
  return { state, ...(await read(size)) };
}

/** The directories above a path, from the outermost. */
function parentsOf(path: string): readonly string[] {
  const parts = path.split("/").slice(0, -1);
  return ["", ...parts.map((_, at) => parts.slice(0, at + 1).join("/"))];
}

async function sideThen(
  store: Store,
  { id, etc }: Manifest,
  path: string,
  signal: AbortSignal,
): Promise<Side | undefined> {
  const entries = new Map(etc.map((entry): [string, TreeEntry] => [entry.path, entry]));
  const entry = entries.get(path);
  const isReachable = parentsOf(path).every((parent) => {
    const above = entries.get(parent);
    return above?.type === "folder" && (above.mode & forOthers) !== 0;
  });
  if (entry?.type === "link") return linkSide(entry.uid, entry.gid, entry.target, isReachable);
  if (entry?.type === "folder") return directorySide(entry.uid, entry.gid, entry.mode);
  if (entry === undefined) return undefined;
  return fileSide(entry, isReachable, async (size) => {
    await store.checkObject(entry, `${path} of the snapshot ${id}`, signal);
    return using(openFile(store.objectPath(entry.sha256)), (file) => readText(file, size));
  });
}

async function sideNow(etc: string, path: string): Promise<Side | undefined> {
  try {
    return await using(openBelow(etc, parentPart(path)), async (directory) => {
      const place = String(pathWithin(directory, lastPart(path)));
      const found = await lstat(place);
      const isReachable = await isReachableNow(etc, path);
      if (found.isSymbolicLink()) return linkSide(found.uid, found.gid, await readlink(place), isReachable);
      if (found.isDirectory()) return directorySide(found.uid, found.gid, found.mode);
      if (!found.isFile()) return undefined;
      return using(openFile(place), async (file) => {
        // What was opened counts, in case it was replaced meanwhile.
        return fileSide(await file.stat(), isReachable, (size) => readText(file, size));
      });
    });
  } catch (error) {
    if (isNotFound(error) || errnoCode(error) === "ELOOP" || errnoCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

async function isReachableNow(etc: string, path: string): Promise<boolean> {
  for (const parent of parentsOf(path)) {
    const { mode } = await using(openBelow(etc, parent), (directory) => directory.stat());
    if ((mode & forOthers) === 0) return false;
  }
  return true;
}

/** What is compared, or why it is not. */
function compareTexts(
  path: string,
  before: Side | undefined,
  after: Side | undefined,
): Pick<FileComparison, "text" | "reason"> {
  const reason = before?.withheld ?? after?.withheld;
  if (reason !== undefined) return { reason };
  const [then, now] = [redact(before?.text ?? "").text, redact(after?.text ?? "").text];
  if (then === now && before?.text !== after?.text) return { reason: "only what looks like a secret differs" };
  const names = [before, after].map((side, at) =>
    side === undefined ? "/dev/null" : `${at === 0 ? "a" : "b"}${path}`,
  );
  const text = createTwoFilesPatch(names[0] ?? "", names[1] ?? "", then, now, undefined, undefined, {
    maxEditLength: maxEdits,
    headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true },
  });
  return text === undefined ? { reason: `more than ${maxEdits} lines differ` } : { text: then === now ? "" : text };
}

/**
 * A file below /etc as a snapshot has it and as it is now. What only some users may read is not shown, secrets in the rest are
 * redacted: what is returned can be shown to anyone who may return to the snapshot.
 * @param path absolute.
 * @returns undefined where neither has it, and for what a snapshot leaves out.
 * @throws SnapshotUnusable
 */
export async function compareFile(
  { store, etc }: { readonly store: Store; readonly etc: string },
  manifest: Manifest,
  path: string,
  signal: AbortSignal,
): Promise<FileComparison | undefined> {
  const inner = relative(etc, path);
  if (path !== normalize(path) || inner === "" || inner.startsWith("..") || isAbsolute(inner) || isKeptOut(inner))
    return undefined;
  const [before, after] = [await sideThen(store, manifest, inner, signal), await sideNow(etc, inner)];
  if (before === undefined && after === undefined) return undefined;
  return {
    ...(before && { before: before.state }),
    ...(after && { after: after.state }),
    ...compareTexts(path, before, after),
  };
}
