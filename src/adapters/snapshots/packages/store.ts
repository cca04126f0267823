import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { lstat, mkdir, readdir, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { syncDirectory, writeFileSynced } from "#adapters/files/index.ts";
import type { PresentPackage } from "#domain/updates/ports.ts";
import { SnapshotUnusable } from "#domain/updates/ports.ts";
import { errnoCode } from "#kernel/errors.ts";
import { isRecord } from "#kernel/values.ts";
import type { Content } from "./files.ts";
import { digest, openFile, openNew, using } from "./files.ts";

/** The file of a package version, for all snapshots that have it. */
export interface KeptPackage extends Content {
  readonly origin: "cache" | "repository" | "installed";
}

/** Folders in `work/` that a rollback goes on with; a unit of it may still read there. */
export const rollbackPrefix = "rollback-";

type Version = Pick<PresentPackage, "name" | "architecture" | "version" | "state">;

/** By what a package version is found; one of which only configuration was left has a file of its own. */
export const packageKey = ({ name, architecture, version, state }: Version): string =>
  `${name}_${version.replaceAll(":", "%3a")}_${architecture}${state === "configuration" ? ".configuration" : ""}`;

/**
 * Refuses what is not as it was made here: somebody else may have put it there.
 * @param what it is, for people: paths of the state folder are nothing to them.
 */
async function checkOwn(path: string, type: "file" | "folder", what: string): Promise<void> {
  const found = await lstat(path);
  const isType = type === "file" ? found.isFile() : found.isDirectory();
  if (!isType) throw new SnapshotUnusable(`cannot use ${what}: it is no ${type}`);
  if (found.uid !== process.getuid?.()) throw new SnapshotUnusable(`cannot use ${what}: it belongs to somebody else`);
  if ((found.mode & 0o077) !== 0) throw new SnapshotUnusable(`cannot use ${what}: it is open to others`);
}

/** What cannot be read makes a snapshot unusable. The words of the system name paths, so only their code is told. */
export function unreadable(error: unknown, what: string): unknown {
  const code = errnoCode(error);
  if (code === undefined) return error;
  const reason = code === "ENOENT" ? `${what} is missing` : `cannot read ${what} (${code})`;
  return new SnapshotUnusable(reason, { cause: error });
}

const isHash = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

function parseKept(text: string, what: string): KeptPackage {
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
  const from = (["cache", "repository", "installed"] as const).find((each) => each === origin);
  if (typeof sha256 !== "string" || !isHash(sha256) || typeof size !== "number" || from === undefined) return refuse();
  return { sha256, size, origin: from };
}

/**
 * The folder of all snapshots: `objects/` has contents by their hash, `packages/` says which of them is the file of which
 * package version, `work/` has what is in the making. Everything is written whole, synced, and then renamed.
 */
export function createStore(root: string) {
  const objects = join(root, "objects");
  const packages = join(root, "packages");
  const work = join(root, "work");
  const objectPath = (sha256: string): string => join(objects, sha256);
  const keptPath = (version: Version): string => join(packages, `${packageKey(version)}.json`);
  const folders = [
    [root, "the folder of all snapshots"],
    [objects, "the folder of what all snapshots hold"],
    [packages, "the folder of the package files of all snapshots"],
  ] as const;
  const newPath = (): string => join(work, `new-${randomBytes(6).toString("hex")}`);

  const readOwn = async (path: string, what: string): Promise<string> => {
    await checkOwn(path, "file", what);
    return using(openFile(path), (file) => file.readFile("utf8"));
  };

  /** Whether the store has a content, undamaged. */
  const isWhole = async ({ sha256, size }: Content, what: string): Promise<boolean> => {
    const path = objectPath(sha256);
    if (!existsSync(path)) return false;
    await checkOwn(path, "file", what);
    const found = await using(openFile(path), (file) => digest(file));
    return found.sha256 === sha256 && found.size === size;
  };

  /** Copies a file into the store unless it is there. What was copied counts, should it change meanwhile. */
  const put = async (source: FileHandle): Promise<Content> => {
    const content = await digest(source);
    if (await isWhole(content, "what other snapshots hold of the same")) return content;
    const path = newPath();
    try {
      const copied = await using(openNew(path), async (file) => {
        const written = await digest(source, file);
        await file.sync();
        return written;
      });
      await rename(path, objectPath(copied.sha256));
      return copied;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  };

  const kept = async (version: Version, what: string): Promise<KeptPackage | undefined> => {
    try {
      return parseKept(await readOwn(keptPath(version), `what is noted of ${what}`), what);
    } catch (error) {
      if (errnoCode(error) === "ENOENT") return undefined;
      throw unreadable(error, `what is noted of ${what}`);
    }
  };

  const clear = async (isOver: (name: string) => boolean): Promise<void> => {
    for (const name of await readdir(work)) {
      if (isOver(name)) await rm(join(work, name), { recursive: true, force: true });
    }
  };

  const notes = async (): Promise<ReadonlyMap<string, KeptPackage | undefined>> => {
    const found = new Map<string, KeptPackage | undefined>();
    for (const name of await readdir(packages)) {
      const path = join(packages, name);
      const note = await readOwn(path, name)
        .then((text) => parseKept(text, name))
        .catch((error: unknown) => {
          if (error instanceof SnapshotUnusable) return undefined;
          throw error;
        });
      found.set(name.replace(/\.json$/, ""), note);
    }
    return found;
  };

  return {
    work,
    objectPath,
    readOwn,
    put,
    kept,

    /** The sizes of all package files that are kept; a note that is damaged is of none. */
    async keptSizes(): Promise<ReadonlyMap<string, number>> {
      const sizes = new Map<string, number>();
      for (const [key, found] of await notes()) if (found !== undefined) sizes.set(key, found.size);
      return sizes;
    },

    /** Makes the folders, and takes away what an interrupted change has left. */
    async prepare(): Promise<void> {
      for (const [path, what] of folders) {
        await mkdir(path, { recursive: path === root, mode: 0o700 }).catch((error: unknown) => {
          if (errnoCode(error) !== "EEXIST") throw error;
        });
        await checkOwn(path, "folder", what);
      }
      await mkdir(work, { recursive: true, mode: 0o700 });
      await clear((name) => !name.startsWith(rollbackPrefix));
    },
    /** Transactions of rollbacks that have put something down. */
    async rollbacks(): Promise<readonly string[]> {
      if (!existsSync(work)) return [];
      const names = (await readdir(work)).filter((name) => name.startsWith(rollbackPrefix));
      return names.map((name) => name.slice(rollbackPrefix.length)).sort();
    },
    /** Takes away what a rollback has put down. */
    endRollback: (transaction: string): Promise<void> => clear((name) => name === `${rollbackPrefix}${transaction}`),

    /** Refuses the folders if they are not as they were made. */
    async check(): Promise<void> {
      for (const [path, what] of folders) {
        await checkOwn(path, "folder", what).catch((error: unknown) => {
          throw unreadable(error, what);
        });
      }
    },
    checkFolder: (path: string, what: string): Promise<void> => checkOwn(path, "folder", what),

    /** Takes the file of a package version over into the store. */
    async keep(version: Version, path: string, origin: KeptPackage["origin"]): Promise<void> {
      const content = await using(openFile(path), put);
      const entry = newPath();
      writeFileSynced(entry, `${JSON.stringify({ ...content, origin })}\n`);
      syncDirectory(objects);
      await rename(entry, keptPath(version));
      syncDirectory(packages);
    },

    /** Compares a content with its hash. @throws SnapshotUnusable when it is damaged or lost. */
    async checkObject(content: Content, what: string, signal: AbortSignal): Promise<void> {
      signal.throwIfAborted();
      const isFine = await isWhole(content, what).catch((error: unknown) => {
        throw unreadable(error, what);
      });
      if (!isFine) throw new SnapshotUnusable(`${what} is damaged or lost: its content is not what was kept`);
    },

    /** Removes what no snapshot needs any more. */
    async sweep(needed: {
      readonly objects: ReadonlySet<string>;
      readonly packages: ReadonlySet<string>;
    }): Promise<void> {
      const hashes = new Set(needed.objects);
      for (const [key, note] of await notes()) {
        if (note !== undefined && needed.packages.has(key)) hashes.add(note.sha256);
        else await unlink(join(packages, `${key}.json`));
      }
      syncDirectory(packages);
      for (const name of await readdir(objects)) if (!hashes.has(name)) await unlink(join(objects, name));
    },
  };
}

export type Store = ReturnType<typeof createStore>;
