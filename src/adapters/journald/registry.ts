import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { isInNamespace } from "#domain/logs/namespace.ts";
import type { UnreadFile } from "#domain/ports/journal.ts";
import { errnoCode, isNotFound, isPermissionDenied, orElse } from "#kernel/errors.ts";
import { type Budget, type BudgetLimits, createBudget } from "./budget.ts";
import { createBlockPool } from "./journal-file/blocks.ts";
import { NotAJournal } from "./journal-file/file.ts";
import { fileState } from "./journal-file/layout.ts";
import { openSource, type Source } from "./source.ts";

export interface Root {
  readonly path: string;
  /** Only this machine's subdirectory; all of them when it is not given. */
  readonly machineId?: string;
}

export interface Fault {
  readonly path: string;
  readonly what: string;
}

/** A machine's id in either form, as sd-journal takes it; undefined for anything else. */
function machineOf(text: string): string | undefined {
  const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? text.replaceAll("-", "") : text;
  return /^[0-9a-f]{32}$/i.test(id) ? id.toLowerCase() : undefined;
}

/** What a directory is named for: `MACHINE`, or `MACHINE.NAMESPACE`; without a machine for any other. */
function parseDirectory(name: string): { readonly machine: string | undefined; readonly namespace: string } {
  const [, machine = name, namespace = ""] = /^([^.]*)\.([A-Za-z0-9:_.@-]+)$/.exec(name) ?? [];
  return { machine: machineOf(machine), namespace };
}

/** A file of a journal, and the namespace of its directory: empty for the default one, of which are also files beside the directories. */
export interface ListedFile {
  readonly path: string;
  readonly namespace: string;
}

const journalName = /\.journal~?$/;
/** A directory that changed less than this before it was listed may change again without its time showing it. */
const settledMs = 100;

function timeOf(path: string, which: "mtimeMs" | "ctimeMs"): number {
  try {
    return statSync(path)[which];
  } catch {
    return -1;
  }
}

export interface Directories {
  readonly list: () => readonly ListedFile[];
  /** Whether nothing came, went or became readable since the last listing. */
  readonly isCurrent: () => boolean;
  /** Notes a path that may not be read: rights that change later change its change time, but not the directory's. */
  readonly deny: (path: string, namespace: string | undefined) => void;
  /** @param namespace those that are wanted. */
  readonly hasDenied: (namespace: string | undefined) => boolean;
  readonly forget: () => void;
}

/** @param onDenied called for a directory that may not be listed, with the namespace of its files, if they are of one. */
function createDirectories(
  roots: readonly Root[],
  onDenied: (path: string, namespace: string | undefined) => void,
): Directories {
  let listed: ReadonlyMap<string, number> = new Map();
  /** Without a namespace: one that has directories of any. */
  const denied = new Map<string, { readonly time: number; readonly namespace: string | undefined }>();

  const deny: Directories["deny"] = (path, namespace) => {
    const time = timeOf(path, "ctimeMs");
    try {
      accessSync(path, constants.R_OK);
      // Readable by now: NaN equals no time, so it is listed again.
      denied.set(path, { time: Number.NaN, namespace });
    } catch {
      denied.set(path, { time, namespace });
    }
  };

  const namesIn = (path: string, namespace: string | undefined): readonly string[] => {
    try {
      return readdirSync(path);
    } catch (error) {
      if (isNotFound(error)) return [];
      if (!isPermissionDenied(error)) throw error;
      deny(path, namespace);
      onDenied(path, namespace);
      return [];
    }
  };

  return {
    list() {
      const now = Date.now();
      const times = new Map<string, number>();
      const listOne = (path: string, namespace?: string) => {
        const time = timeOf(path, "mtimeMs");
        const names = namesIn(path, namespace);
        const isSettled = time < now - settledMs && time === timeOf(path, "mtimeMs");
        times.set(path, isSettled ? time : Number.NaN);
        const files = names.filter((name) => journalName.test(name));
        return { names, files: files.map((name) => ({ path: join(path, name), namespace: namespace ?? "" })) };
      };
      const files = roots.flatMap(({ path, machineId }) => {
        const own = listOne(path);
        const ofMachines = own.names.flatMap((name) => {
          const { machine, namespace } = parseDirectory(name);
          const isWanted = machine !== undefined && (machineId === undefined || machine === machineOf(machineId));
          return isWanted ? listOne(join(path, name), namespace).files : [];
        });
        return [...own.files, ...ofMachines];
      });
      listed = times;
      return files;
    },
    isCurrent: () =>
      listed.size > 0 &&
      [...listed].every(([path, time]) => time === timeOf(path, "mtimeMs")) &&
      [...denied].every(([path, { time }]) => time === timeOf(path, "ctimeMs")),
    deny,
    hasDenied: (wanted) =>
      [...denied.values()].some(({ namespace }) => namespace === undefined || isInNamespace(wanted, namespace)),
    forget() {
      listed = new Map();
      denied.clear();
    },
  };
}

export class NoPermission extends Error {
  override readonly name = "NoPermission";
}

/** So many blocks of 20 KiB are kept in each thread at most: 10 MiB. */
const maxBlocks = 512;
/** What all threads keep of blocks, values and lists, and what each of them may keep however much the others do. */
const [maxKeptBytes, ownKeptBytes] = [40 * 1024 * 1024, 6 * 1024 * 1024];
/** How much of that blocks leave to values and lists. */
const sharedKeptBytes = 2 * 1024 * 1024;
const maxListings = 8;
const maxChecks = 8;

/** The journal files that are there, opened, as of the last `refresh`. */
export interface Registry {
  /**
   * Finds files that came, went or grew. All are seen as of one time, unless they never stand still: otherwise the
   * one that is checked last would show an entry, and the first not yet the entry before it.
   * @param namespace those that are wanted, as of a query.
   * @returns one source for each journal that can be read here; a copy of a file counts once.
   * @throws NoPermission
   */
  readonly refresh: (namespace: string | undefined) => readonly Source[];
  /**
   * The files, as of the last `refresh`, of which entries may be missing: those that cannot be opened, and those that have proved to be
   * damaged.
   * @param isWanted of which damaged ones it matters.
   */
  readonly unread: (isWanted?: (source: Source) => boolean) => readonly UnreadFile[];
  /** Whether no namespace has a file, as of the last `refresh`. */
  readonly isEmpty: () => boolean;
  readonly release: () => void;
  readonly dispose: () => void;
}

export interface RegistryOptions {
  /** How long deleted files are kept open. */
  readonly keepMs?: number;
  readonly onGoing?: (sources: readonly Source[]) => void;
  /** Called before bytes of a file are read; what it throws ends the work for which they were wanted. */
  readonly beforeRead?: (() => void) | undefined;
  /** What other threads keep, where there are any. */
  readonly usage?: Usage | undefined;
}

export type Usage = Pick<BudgetLimits, "usage" | "place">;

interface OpenFiles {
  readonly directories: Directories;
  readonly pool: ReturnType<typeof createBlockPool>;
  readonly budget: Budget;
  readonly onDamage: (fault: Fault) => void;
  readonly options: RegistryOptions;
  readonly sources: Map<string, Source>;
  /** By their paths: what is there, but is not read. */
  readonly unopened: Map<string, UnreadFile>;
  readonly deletedAt: Map<string, number>;
}

/** @returns undefined where nothing has that name any more. @throws the system's error. */
function inodeOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

function leaveOut({ unopened, onDamage }: OpenFiles, { path, namespace }: ListedFile, reason: string): void {
  unopened.set(path, { path, name: basename(path), namespace, reason });
  onDamage({ path, what: reason });
}

/** Leaves out what the system does not let be opened. @throws what is no error of the system. */
function leaveOutFor(files: OpenFiles, listed: ListedFile, error: unknown): void {
  const code = errnoCode(error);
  if (code === undefined) throw error;
  if (isPermissionDenied(error)) files.directories.deny(listed.path, listed.namespace);
  leaveOut(files, listed, `it cannot be opened (${code})`);
}

/** Whether a file is that young, and still without any content. */
function isBeingMade(path: string): boolean {
  try {
    const { birthtimeMs, blocks } = statSync(path);
    return blocks === 0 && Date.now() - birthtimeMs < settledMs;
  } catch {
    return true;
  }
}

function drop({ sources, deletedAt }: OpenFiles, inode: string): void {
  sources.get(inode)?.close();
  sources.delete(inode);
  deletedAt.delete(inode);
}

function refreshSource(files: OpenFiles, inode: string, source: Source): boolean {
  try {
    return source.refresh();
  } catch (error) {
    if (!(error instanceof NotAJournal)) throw error;
    // journald empties the files that it vacuums before it deletes them: nothing is wrong with those.
    if (source.file.isLinked()) leaveOut(files, source, error.message);
    drop(files, inode);
    return false;
  }
}

function withoutCopies({ sources }: OpenFiles): readonly Source[] {
  const byId = new Map<string, Source>();
  for (const source of sources.values()) {
    const known = byId.get(source.id);
    if (known === undefined || known.file.header.entries < source.file.header.entries) byId.set(source.id, source);
  }
  return [...byId.values()];
}

function dropDeleted(files: OpenFiles): void {
  const { keepMs = 0, onGoing } = files.options;
  const now = performance.now();
  const going = [...files.deletedAt].flatMap(([inode, at]) => (now - at >= keepMs ? [inode] : []));
  if (going.length === 0) return;
  if (onGoing !== undefined) {
    for (const [inode, source] of [...files.sources]) refreshSource(files, inode, source);
    onGoing(withoutCopies(files));
  }
  for (const inode of going) drop(files, inode);
}

/** @returns false when another file has that name now. */
function openAt(files: OpenFiles, listed: ListedFile, inode: string): boolean {
  const { sources, pool, budget, onDamage } = files;
  try {
    const source = openSource(listed, pool, budget, (at, what) => onDamage({ path: at, what }));
    if (source.file.inode === inode) {
      sources.set(inode, source);
      return true;
    }
    source.close();
    return false;
  } catch (error) {
    if (error instanceof NotAJournal) {
      // journald makes a file and then writes its header.
      if (isBeingMade(listed.path)) return false;
      leaveOut(files, listed, error.message);
      return true;
    }
    if (isNotFound(error)) return false;
    leaveOutFor(files, listed, error);
  }
  return true;
}

/** Opens what came. @returns false when the directories changed meanwhile, so that a file may have been overlooked. */
function openListed(files: OpenFiles): boolean {
  const { directories, sources, unopened, deletedAt } = files;
  directories.forget();
  unopened.clear();
  const found = new Map<string, ListedFile>();
  let isComplete = true;
  for (const listed of directories.list()) {
    try {
      const inode = inodeOf(listed.path);
      if (inode === undefined) isComplete = false;
      else found.set(inode, listed);
    } catch (error) {
      leaveOutFor(files, listed, error);
    }
  }
  for (const [inode, source] of sources) {
    const listed = found.get(inode);
    if (listed !== undefined) source.path = listed.path;
    else if (source.file.isLinked()) isComplete = false;
    else if (!deletedAt.has(inode)) deletedAt.set(inode, performance.now());
  }
  for (const [inode, listed] of found) if (!sources.has(inode) && !openAt(files, listed, inode)) isComplete = false;
  // Only now: what a deleted file may have been copied to is open.
  dropDeleted(files);
  return isComplete;
}

function update(files: OpenFiles): void {
  for (let listings = 1; listings < maxListings; listings += 1) if (openListed(files)) return;
  // Files that were moved elsewhere still exist, but are no longer ours.
  const present = new Set(files.directories.list().map(({ path }) => orElse(() => inodeOf(path), undefined)));
  for (const inode of [...files.sources.keys()]) {
    if (!present.has(inode) && !files.deletedAt.has(inode)) drop(files, inode);
  }
}

function check(files: OpenFiles): boolean {
  const isSame = files.directories.isCurrent();
  const before = new Set(files.sources.keys());
  if (!isSame) update(files);
  let isChanged = [...files.sources.keys()].some((inode) => !before.has(inode));
  for (const [inode, source] of [...files.sources]) {
    if (isSame && source.file.header.state === fileState.archived) continue;
    if (refreshSource(files, inode, source)) isChanged = true;
  }
  return isChanged;
}

export function createRegistry(
  roots: readonly Root[],
  onDamage: (fault: Fault) => void,
  options: RegistryOptions = {},
): Registry {
  const { beforeRead, usage = { usage: new Int32Array(1), place: 0 } } = options;
  const unopened: OpenFiles["unopened"] = new Map();
  const directories = createDirectories(roots, (path, namespace) => {
    const reason = "no permission to list it";
    unopened.set(path, { path, name: "a directory of journal files", namespace, reason });
    onDamage({ path, what: reason });
  });
  const budget = createBudget({
    maxBytes: maxKeptBytes,
    ownBytes: ownKeptBytes,
    sharedBytes: sharedKeptBytes,
    ...usage,
  });
  const pool = createBlockPool(maxBlocks, beforeRead, budget);
  const sources: OpenFiles["sources"] = new Map();
  const files: OpenFiles = { directories, pool, budget, onDamage, options, sources, unopened, deletedAt: new Map() };
  return {
    refresh(wanted) {
      dropDeleted(files);
      for (let checks = 1; check(files) && checks < maxChecks; checks += 1);
      const all = withoutCopies(files).filter(({ namespace }) => isInNamespace(wanted, namespace));
      if (all.length === 0 && directories.hasDenied(wanted))
        throw new NoPermission("the journal files are not readable");
      return all;
    },
    unread(isWanted = () => true) {
      const isDamaged = (source: Source): boolean => source.damage() !== undefined;
      const damaged = [...sources.values()].some(isDamaged) ? withoutCopies(files).filter(isDamaged) : [];
      return [
        ...unopened.values(),
        ...damaged.filter(isWanted).map(({ path, namespace, damage }) => {
          return { path, name: basename(path), namespace, reason: `it is damaged: ${damage() ?? ""}` };
        }),
      ];
    },
    isEmpty: () => files.sources.size === 0,
    release() {
      if (sources.size === 0) return;
      dropDeleted(files);
      if (!directories.isCurrent()) update(files);
    },
    dispose() {
      for (const inode of [...files.sources.keys()]) drop(files, inode);
      directories.forget();
      pool.clear();
    },
  };
}
