import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { errnoCode, isNotFound, isPermissionDenied } from "#kernel/errors.ts";
import { createBlockPool } from "./journal-file/blocks.ts";
import { isLittleEndian, NotAJournal } from "./journal-file/file.ts";
import { fileState, readableFlags } from "./journal-file/layout.ts";
import type { Source } from "./source.ts";
import { openSource } from "./source.ts";

/** A folder of journals: its own files, and those of its sub-folders that are named for a machine. */
export interface Root {
  readonly path: string;
  /** Only this machine's sub-folder; all of them when it is not given. */
  readonly machineId?: string;
}

/** Something that cannot be read: a whole file, or a part of it. */
export interface Fault {
  readonly path: string;
  readonly what: string;
}

/** A file is of a kind that only journalctl reads. */
export class NeedsFallback extends Error {
  override readonly name = "NeedsFallback";
}

/** No file could be opened for want of permission. */
export class NoPermission extends Error {
  override readonly name = "NoPermission";
}

const machineFolder = /^[0-9a-f]{32}$/;
const journalName = /\.journal~?$/;
/** So many blocks of 20 KiB are kept: 40 MiB. */
const maxBlocks = 2048;
/** A folder that changed less than this before it was listed may change again without its time showing it. */
const settledMs = 100;
/** A folder that changes while it is listed is listed again, so many times. */
const maxListings = 8;
/** Files that change while they are looked at are looked at again, so many times. */
const maxLooks = 8;

/** The journal files that are there, opened, as of the last `refresh`. */
export interface Registry {
  /**
   * Looks for files that came, went or grew. All are seen as of one moment, unless they never stand still: otherwise the
   * one that is looked at last would show an entry, and the first not yet the entry before it.
   * @returns one source for each journal; a copy of a file counts once.
   * @throws NeedsFallback, NoPermission
   */
  readonly refresh: () => readonly Source[];
  /** Gives back files that were deleted meanwhile, so that their room on the disk is free. */
  readonly release: () => void;
  readonly dispose: () => void;
}

/** How files go that were deleted while they were read. */
export interface Departure {
  /** How long such a file can still be read, for those that have not read all of it. */
  readonly keepMs: number;
  /** Told of all that can be read, with it, before one can no longer be. */
  readonly onGoing?: (sources: readonly Source[]) => void;
}

export function createRegistry(
  roots: readonly Root[],
  onDamage: (fault: Fault) => void,
  { keepMs, onGoing }: Departure = { keepMs: 0 },
): Registry {
  const pool = createBlockPool(maxBlocks);
  /** By device and inode: a file that is renamed, as in a rotation, stays open. */
  const open = new Map<string, Source>();
  /** When it was seen that an open file has been deleted. */
  const deletedAt = new Map<string, number>();
  /** Modification time of every folder at the last listing; empty when they are to be listed again. */
  let listed = new Map<string, number>();
  /** What may not be read, with its change time then: rights that change since change that and not the time of the folder. */
  const denied = new Map<string, number>();

  const changeTime = (path: string): number => {
    try {
      return statSync(path).ctimeMs;
    } catch {
      // Gone, or not for us any more.
      return -1;
    }
  };

  const deny = (path: string): void => {
    const time = changeTime(path);
    try {
      accessSync(path, constants.R_OK);
      // It may be by now: to be looked at again.
      denied.set(path, Number.NaN);
    } catch {
      denied.set(path, time);
    }
  };

  const folderTime = (path: string): number => {
    try {
      return statSync(path).mtimeMs;
    } catch {
      // Not there, or not for us: listing it says which.
      return -1;
    }
  };

  const list = (path: string): { readonly files: readonly string[]; readonly folders: readonly string[] } => {
    try {
      const names = readdirSync(path);
      return {
        files: names.filter((name) => journalName.test(name)).map((name) => join(path, name)),
        folders: names.filter((name) => machineFolder.test(name)),
      };
    } catch (error) {
      if (isNotFound(error)) return { files: [], folders: [] };
      if (!isPermissionDenied(error)) throw error;
      deny(path);
      onDamage({ path, what: "no permission to list it" });
      return { files: [], folders: [] };
    }
  };

  const listAll = (): readonly string[] => {
    const now = Date.now();
    const times = new Map<string, number>();
    const listNoted = (path: string): ReturnType<typeof list> => {
      const time = folderTime(path);
      const listing = list(path);
      const isSettled = time < now - settledMs && time === folderTime(path);
      times.set(path, isSettled ? time : Number.NaN);
      return listing;
    };
    const files = roots.flatMap(({ path, machineId }) => {
      const { files: own, folders } = listNoted(path);
      const machines = folders.filter((name) => machineId === undefined || name === machineId);
      return [...own, ...machines.flatMap((name) => listNoted(join(path, name)).files)];
    });
    listed = times;
    return files;
  };

  const isListed = (): boolean =>
    listed.size > 0 &&
    [...listed].every(([path, time]) => time === folderTime(path)) &&
    [...denied].every(([path, time]) => time === changeTime(path));

  const inodeOf = (path: string): string | undefined => {
    try {
      const { dev, ino } = statSync(path);
      return `${dev}:${ino}`;
    } catch {
      // Gone between the listing and now.
      return undefined;
    }
  };

  /** Whether a file is that young, and still without any content. */
  const isBeingMade = (path: string): boolean => {
    try {
      const { birthtimeMs, blocks } = statSync(path);
      return blocks === 0 && Date.now() - birthtimeMs < settledMs;
    } catch {
      // Gone again.
      return true;
    }
  };

  const drop = (inode: string): void => {
    open.get(inode)?.close();
    open.delete(inode);
    deletedAt.delete(inode);
  };

  /** @returns whether the file has changed. */
  const refreshSource = (inode: string, source: Source): boolean => {
    try {
      return source.refresh();
    } catch (error) {
      if (!(error instanceof NotAJournal)) throw error;
      // Files that journald vacuums are emptied as they are deleted: nothing is wrong with those.
      if (source.file.isLinked()) onDamage({ path: source.path, what: error.message });
      drop(inode);
      return false;
    }
  };

  const withoutCopies = (): readonly Source[] => {
    const byId = new Map<string, Source>();
    for (const source of open.values()) {
      const known = byId.get(source.id);
      if (known === undefined || known.file.header.entries < source.file.header.entries) byId.set(source.id, source);
    }
    return [...byId.values()];
  };

  const dropDeleted = (): void => {
    const now = performance.now();
    const going = [...deletedAt].flatMap(([inode, at]) => (now - at >= keepMs ? [inode] : []));
    if (going.length === 0) return;
    if (onGoing !== undefined) {
      for (const [inode, source] of [...open]) refreshSource(inode, source);
      onGoing(withoutCopies());
    }
    for (const inode of going) drop(inode);
  };

  /** @returns false when another file has that name now. */
  const openAt = (path: string, inode: string): boolean => {
    try {
      const source = openSource(path, pool, (at, what) => onDamage({ path: at, what }));
      if (source.file.inode === inode) {
        open.set(inode, source);
        return true;
      }
      source.close();
      return false;
    } catch (error) {
      if (error instanceof NotAJournal) {
        // journald makes a file and then writes its header: what is just being made is looked at again.
        if (isBeingMade(path)) return false;
        onDamage({ path, what: error.message });
        return true;
      }
      const code = errnoCode(error);
      if (code === "ENOENT") return false;
      if (code === undefined) throw error;
      if (isPermissionDenied(error)) deny(path);
      onDamage({ path, what: `it cannot be opened (${code})` });
    }
    return true;
  };

  /** Opens what came. @returns false when the folders changed meanwhile, so that a file may have been overlooked. */
  const openListed = (): boolean => {
    denied.clear();
    const found = new Map<string, string>();
    let isComplete = true;
    for (const path of listAll()) {
      const inode = inodeOf(path);
      if (inode === undefined) isComplete = false;
      else found.set(inode, path);
    }
    for (const [inode, source] of [...open]) {
      if (found.has(inode)) continue;
      if (source.file.isLinked()) isComplete = false;
      else if (!deletedAt.has(inode)) deletedAt.set(inode, performance.now());
    }
    for (const [inode, path] of found) if (!open.has(inode) && !openAt(path, inode)) isComplete = false;
    // When what it may have been copied to is open.
    dropDeleted();
    return isComplete;
  };

  const update = (): void => {
    for (let listings = 1; listings < maxListings; listings += 1) if (openListed()) return;
    // Files that were moved elsewhere are still there, and not ours any more.
    const present = new Set(listAll().map(inodeOf));
    for (const inode of [...open.keys()]) if (!present.has(inode) && !deletedAt.has(inode)) drop(inode);
  };

  /** @returns whether anything has changed since the last look. */
  const look = (): boolean => {
    const isSame = isListed();
    const before = new Set(open.keys());
    if (!isSame) update();
    let isChanged = [...open.keys()].some((inode) => !before.has(inode));
    for (const [inode, source] of [...open]) {
      if (isSame && source.file.header.state === fileState.archived) continue;
      if (refreshSource(inode, source)) isChanged = true;
    }
    return isChanged;
  };

  return {
    refresh() {
      dropDeleted();
      for (let looks = 1; look() && looks < maxLooks; looks += 1);
      const sources = withoutCopies();
      if (sources.length === 0 && denied.size > 0) throw new NoPermission("the journal files are not readable");
      const foreign = sources.find(({ file }) => (file.header.incompatibleFlags & ~readableFlags) !== 0);
      if (foreign !== undefined || (!isLittleEndian && sources.length > 0)) {
        throw new NeedsFallback(`${foreign?.path ?? "this machine"} is of a kind that only journalctl reads`);
      }
      return sources;
    },
    release() {
      dropDeleted();
      if (!isListed()) update();
    },
    dispose() {
      for (const inode of [...open.keys()]) drop(inode);
      listed = new Map();
      pool.clear();
    },
  };
}
