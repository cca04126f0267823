import { type FileHandle, lstat, readdir, readFile, readlink } from "node:fs/promises";
import type { SnapshotDiff } from "#domain/ports/snapshots.ts";
import { errnoCode, isNotFound } from "#kernel/errors.ts";
import type { Attributes, KeptAttributes } from "./attributes.ts";
import { type Content, digest, openDirectory, openFile, pathWithin, using } from "./files.ts";

/** Not settings: neither stored nor touched. Mounts, devices, sockets, pipes, and names beyond UTF-8 are left alone too. */
export const keptOut: Readonly<Record<string, string>> = {
  "ld.so.cache": "made by ldconfig from the libraries that are installed",
  "machine-id": "says which machine it is, not how it is set up",
  mtab: "kept by mount",
  adjtime: "kept by hwclock: how wrong the clock of the hardware is",
  "resolv.conf": "written while the host runs by anyone who brings up its network; an old one may cut it off",
  ".updated": "kept by systemd: when /etc was last brought in line with /usr",
  steward: "how to reach Steward must not change while Steward returns to a snapshot",
};

export const isKeptOut = (path: string): boolean => Object.hasOwn(keptOut, path.split("/")[0] ?? "");

interface Owned {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  /** Undefined where nothing can tell. */
  readonly attributes?: Attributes;
}
export interface FileEntry extends Owned, Content {
  readonly type: "file";
  readonly mode: number;
  readonly mtimeMs: number;
  /** The package whose configuration file it is. */
  readonly package?: string;
}
export interface DirectoryEntry extends Owned {
  readonly type: "folder";
  readonly mode: number;
}
export interface LinkEntry extends Owned {
  readonly type: "link";
  readonly target: string;
}
export type TreeEntry = FileEntry | DirectoryEntry | LinkEntry;

const escapes = /\\([0-7]{3})/g;

export function mountsBelow(mountinfo: string, root: string): ReadonlySet<string> {
  const points = mountinfo
    .split("\n")
    .map((line) =>
      (line.split(" ")[4] ?? "").replace(escapes, (_, code: string) => String.fromCharCode(parseInt(code, 8))),
    );
  return new Set(points.filter((point) => point.startsWith(`${root}/`)).map((point) => point.slice(root.length + 1)));
}

/** Each directory before its content; links are never followed. @param content what to record of a file; its hash by default. */
export async function readTree(
  root: string,
  signal: AbortSignal,
  attributes: KeptAttributes,
  content: (file: FileHandle) => Promise<Content> = (file) => digest(file),
): Promise<readonly TreeEntry[]> {
  const mounts = mountsBelow(await readFile("/proc/self/mountinfo", "utf8"), root);
  const entries: TreeEntry[] = [];

  const readEntry = async (directory: FileHandle, name: string, path: string): Promise<void> => {
    const found = await lstat(pathWithin(directory, name));
    const owned = { path, uid: found.uid, gid: found.gid };
    const place = String(pathWithin(directory, name));
    if (found.isSymbolicLink()) {
      entries.push({ ...owned, type: "link", target: await readlink(place) });
    } else if (found.isDirectory()) {
      await using(openDirectory(place), (inner) => readDirectory(inner, path));
    } else if (found.isFile()) {
      await using(openFile(place), async (file) => {
        // What was opened counts, in case it was replaced meanwhile.
        const { uid, gid, mode, mtimeMs } = await file.stat();
        entries.push({ path, uid, gid, type: "file", mode: mode & 0o7777, mtimeMs, ...(await content(file)) });
      });
    }
  };

  const readDirectory = async (directory: FileHandle, path: string): Promise<void> => {
    signal.throwIfAborted();
    const { uid, gid, mode } = await directory.stat();
    entries.push({ path, uid, gid, type: "folder", mode: mode & 0o7777 });
    const names = await readdir(`/proc/self/fd/${directory.fd}`, { encoding: "buffer" });
    for (const bytes of names.sort((one, other) => Buffer.compare(one, other))) {
      const name = bytes.toString("utf8");
      const inner = path === "" ? name : `${path}/${name}`;
      if (!Buffer.from(name).equals(bytes) || isKeptOut(inner) || mounts.has(inner)) continue;
      try {
        await readEntry(directory, name, inner);
      } catch (error) {
        if (!isNotFound(error) && errnoCode(error) !== "ELOOP") throw error;
      }
    }
  };

  await using(openDirectory(root), (top) => readDirectory(top, ""));
  if (!attributes.isAvailable()) return entries;
  const kept = await attributes.read(root, signal);
  return entries.map((entry) => ({ ...entry, attributes: kept.get(entry.path) ?? {} }));
}

const isSameRecord = (one: Attributes, other: Attributes): boolean =>
  Object.keys({ ...one, ...other }).every((key) => one[key] === other[key]);

export function isSameEntry(one: TreeEntry, other: TreeEntry): boolean {
  if (one.uid !== other.uid || one.gid !== other.gid) return false;
  if (one.attributes !== undefined && other.attributes !== undefined && !isSameRecord(one.attributes, other.attributes))
    return false;
  if (one.type === "link") return other.type === "link" && one.target === other.target;
  if (one.type === "folder") return other.type === "folder" && one.mode === other.mode;
  return other.type === "file" && one.mode === other.mode && one.sha256 === other.sha256;
}

export function compareTrees(earlier: readonly TreeEntry[], later: readonly TreeEntry[]): SnapshotDiff["files"] {
  const was = new Map(earlier.map((entry) => [entry.path, entry]));
  const is = new Map(later.map((entry) => [entry.path, entry]));
  const added = later.filter(({ path }) => !was.has(path));
  const removed = earlier.filter(({ path }) => !is.has(path));
  const modified = later.filter((entry) => {
    const before = was.get(entry.path);
    return before !== undefined && !isSameEntry(before, entry);
  });
  return [
    ...added.map(({ path }) => ({ path, change: "added" as const })),
    ...removed.map(({ path }) => ({ path, change: "removed" as const })),
    ...modified.map(({ path }) => ({ path, change: "modified" as const })),
  ].sort((one, other) => (one.path < other.path ? -1 : 1));
}
