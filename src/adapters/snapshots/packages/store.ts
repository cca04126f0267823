import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, readdir, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { syncDirectory, writeFileSynced } from "#adapters/files/index.ts";
import type { PresentPackage } from "#domain/ports/packages.ts";
import { SnapshotUnusable } from "#domain/ports/snapshots.ts";
import { errnoCode } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import { type Content, digest, openFile, openNew, using } from "./files.ts";

export interface KeptPackage extends Content {
  readonly origin: "cache" | "repository" | "installed";
}

/** Noted of a version of which no file could be had. */
export const nowhere = "nowhere";
type Note = KeptPackage | typeof nowhere;

export const rollbackPrefix = "rollback-";

type Version = Pick<PresentPackage, "name" | "architecture" | "version" | "state">;

/** By what a package version is found; one of which only configuration was left has a file of its own. */
export const packageKey = ({ name, architecture, version, state }: Version): string =>
  `${name}_${version.replaceAll(":", "%3a")}_${architecture}${state === "configuration" ? ".configuration" : ""}`;

/** Refuses what somebody else may have put there. @param what for people: not a path of the state directory. */
async function checkOwn(path: string, type: "file" | "directory", what: string): Promise<void> {
  const found = await lstat(path);
  const isType = type === "file" ? found.isFile() : found.isDirectory();
  if (!isType) throw new SnapshotUnusable(`cannot use ${what}: it is not a ${type}`);
  if (found.uid !== process.getuid?.()) throw new SnapshotUnusable(`cannot use ${what}: it belongs to somebody else`);
  if ((found.mode & 0o077) !== 0) throw new SnapshotUnusable(`cannot use ${what}: it is open to others`);
}

/** What cannot be read makes a snapshot unusable. System messages name paths, so only the code is shown. */
export function toUnusable(error: unknown, what: string): unknown {
  const code = errnoCode(error);
  if (code === undefined) return error;
  const reason = code === "ENOENT" ? `${what} is missing` : `cannot read ${what} (${code})`;
  return new SnapshotUnusable(reason, { cause: error });
}

const isHash = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

function parseKept(text: string, what: string): Note {
  const refuse = (): never => {
    throw new SnapshotUnusable(`cannot use what is noted of ${what}: it is damaged`);
  };
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return refuse();
  }
  if (!isRecord(found)) return refuse();
  const { sha256, size, origin } = found;
  if (origin === nowhere) return nowhere;
  const from = (["cache", "repository", "installed"] as const).find((each) => each === origin);
  if (typeof sha256 !== "string" || !isHash(sha256) || typeof size !== "number" || from === undefined) return refuse();
  return { sha256, size, origin: from };
}

/** `objects/` has contents by hash, `packages/` says which is the file of which version, `work/` is for drafts. */
interface Directories {
  readonly root: string;
  readonly objects: string;
  readonly packages: string;
  readonly work: string;
}

const checkedDirectories = ({ root, objects, packages }: Directories) =>
  [
    [root, "the directory of all snapshots"],
    [objects, "the directory of what all snapshots hold"],
    [packages, "the directory of the package files of all snapshots"],
  ] as const;

const objectPath = ({ objects }: Directories, sha256: string): string => join(objects, sha256);
const keptPath = ({ packages }: Directories, version: Version): string => join(packages, `${packageKey(version)}.json`);
const newPath = ({ work }: Directories): string => join(work, `new-${randomBytes(6).toString("hex")}`);

async function readOwn(path: string, what: string): Promise<string> {
  await checkOwn(path, "file", what);
  return using(openFile(path), (file) => file.readFile("utf8"));
}

async function isIntact(at: Directories, { sha256, size }: Content, what: string): Promise<boolean> {
  const path = objectPath(at, sha256);
  if (!existsSync(path)) return false;
  await checkOwn(path, "file", what);
  const found = await using(openFile(path), (file) => digest(file));
  return found.sha256 === sha256 && found.size === size;
}

async function put(at: Directories, source: FileHandle): Promise<Content> {
  const content = await digest(source);
  if (await isIntact(at, content, "what other snapshots hold of the same")) return content;
  const path = newPath(at);
  try {
    const copied = await using(openNew(path), async (file) => {
      const written = await digest(source, file);
      await file.sync();
      return written;
    });
    await rename(path, objectPath(at, copied.sha256));
    return copied;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function kept(at: Directories, version: Version, what: string): Promise<KeptPackage | undefined> {
  try {
    const note = parseKept(await readOwn(keptPath(at, version), `what is noted of ${what}`), what);
    return note === nowhere ? undefined : note;
  } catch (error) {
    if (errnoCode(error) === "ENOENT") return undefined;
    throw toUnusable(error, `what is noted of ${what}`);
  }
}

async function keep(at: Directories, version: Version, path: string, origin: KeptPackage["origin"]): Promise<void> {
  const content = await using(openFile(path), (file) => put(at, file));
  syncDirectory(at.objects);
  await note(at, version, { ...content, origin });
}

async function note(at: Directories, version: Version, found: KeptPackage | { origin: typeof nowhere }): Promise<void> {
  const entry = newPath(at);
  writeFileSynced(entry, `${JSON.stringify(found)}\n`);
  await rename(entry, keptPath(at, version));
  syncDirectory(at.packages);
}

async function removeWork({ work }: Directories, isOver: (name: string) => boolean): Promise<void> {
  for (const name of await readdir(work)) {
    if (isOver(name)) await rm(join(work, name), { recursive: true, force: true });
  }
}

async function prepareDirectories(at: Directories): Promise<void> {
  for (const [path, what] of checkedDirectories(at)) {
    await mkdir(path, { recursive: path === at.root, mode: 0o700 }).catch((error: unknown) => {
      if (errnoCode(error) !== "EEXIST") throw error;
    });
    await checkOwn(path, "directory", what);
  }
  await mkdir(at.work, { recursive: true, mode: 0o700 });
  await removeWork(at, (name) => !name.startsWith(rollbackPrefix));
}

async function keptByKey({ packages }: Directories): Promise<ReadonlyMap<string, Note | undefined>> {
  const found = new Map<string, Note | undefined>();
  for (const name of await readdir(packages)) {
    const kept = await readOwn(join(packages, name), name)
      .then((text) => parseKept(text, name))
      .catch((error: unknown) => {
        if (error instanceof SnapshotUnusable) return undefined;
        throw error;
      });
    found.set(name.replace(/\.json$/, ""), kept);
  }
  return found;
}

interface Needed {
  readonly objects: ReadonlySet<string>;
  readonly packages: ReadonlySet<string>;
  /** Files of these are kept as well, as many as have space; all where it is undefined. */
  readonly installed: ReadonlySet<string> | undefined;
}

/** The smallest first, so that it is as many packages as possible. */
function keptAhead(
  notes: ReadonlyMap<string, Note | undefined>,
  { packages, installed }: Needed,
  mostBytes: number,
): ReadonlySet<string> {
  const found = [...notes].flatMap(([key, kept]) =>
    kept === undefined || kept === nowhere || packages.has(key) || installed?.has(key) === false
      ? []
      : [{ key, size: kept.size }],
  );
  const keys = new Set<string>();
  let bytes = 0;
  for (const { key, size } of found.toSorted((one, other) => one.size - other.size)) {
    bytes += size;
    if (bytes <= mostBytes) keys.add(key);
  }
  return keys;
}

async function sweep(at: Directories, needed: Needed, mostBytes: number): Promise<void> {
  const hashes = new Set(needed.objects);
  const notes = await keptByKey(at);
  const ahead = keptAhead(notes, needed, mostBytes);
  for (const [key, kept] of notes) {
    if (kept !== undefined && (needed.packages.has(key) || ahead.has(key))) {
      if (kept !== nowhere) hashes.add(kept.sha256);
    } else await unlink(join(at.packages, `${key}.json`));
  }
  syncDirectory(at.packages);
  for (const name of await readdir(at.objects)) if (!hashes.has(name)) await unlink(join(at.objects, name));
}

/** @param mostBytes for files of installed packages that no snapshot needs yet. */
export function createStore(root: string, mostBytes = 2 * 2 ** 30) {
  const work = join(root, "work");
  const at: Directories = { root, objects: join(root, "objects"), packages: join(root, "packages"), work };
  return {
    work,
    objectPath: (sha256: string) => objectPath(at, sha256),
    readOwn,
    put: (source: FileHandle) => put(at, source),
    kept: (version: Version, what: string) => kept(at, version, what),
    keep: (version: Version, path: string, origin: KeptPackage["origin"]) => keep(at, version, path, origin),
    prepare: () => prepareDirectories(at),
    keepNowhere: (version: Version) => note(at, version, { origin: nowhere }),
    sweep: (needed: Needed) => sweep(at, needed, mostBytes),
    notes: () => keptByKey(at),

    /** Transactions of rollbacks that have left something in `work/`. */
    async rollbacks(): Promise<readonly string[]> {
      if (!existsSync(work)) return [];
      const names = (await readdir(work)).filter((name) => name.startsWith(rollbackPrefix));
      return names.map((name) => name.slice(rollbackPrefix.length)).sort();
    },
    endRollback: (transaction: string) => removeWork(at, (name) => name === `${rollbackPrefix}${transaction}`),

    async check(): Promise<void> {
      for (const [path, what] of checkedDirectories(at)) {
        await checkOwn(path, "directory", what).catch((error: unknown) => {
          throw toUnusable(error, what);
        });
      }
    },
    checkDirectory: (path: string, what: string): Promise<void> => checkOwn(path, "directory", what),

    async checkObject(content: Content, what: string, signal: AbortSignal): Promise<void> {
      signal.throwIfAborted();
      const isFine = await isIntact(at, content, what).catch((error: unknown) => {
        throw toUnusable(error, what);
      });
      if (!isFine) throw new SnapshotUnusable(`${what} is damaged or lost: its content is not what was kept`);
    },
  };
}

export type Store = ReturnType<typeof createStore>;
