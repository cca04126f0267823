import { closeSync, constants, fstatSync, lstatSync, opendirSync, openSync, readFileSync, type Stats } from "node:fs";
import type { Look, Looking } from "#adapters/exec/look.ts";
import { createMountLookup, parseMountinfo } from "#adapters/exec/mountinfo.ts";
import type { Unavailability } from "#domain/common/host-unavailable.ts";
import type { DirectoryOptions, MeasuredDirectory } from "#domain/ports/disk-usage.ts";
import { errnoCode, isNotFound, isPermissionDenied, orUndefinedSync } from "#kernel/errors.ts";
import { createTotals, type Directory } from "./totals.ts";

/** Names that one read of a directory gives. */
const namesAtOnce = 128;
const noFollow = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

export interface DirectoryWanted extends DirectoryOptions {
  readonly path: string;
  readonly mountinfo: string;
  readonly most: { readonly entries: number; readonly ms: number };
}

export type DirectoryAnswer =
  | { readonly measured: MeasuredDirectory }
  /** Why there is no directory. */
  | { readonly none: string }
  | { readonly unavailable: string; readonly details: Unavailability };

/** Directories in whose place a sandbox with temporary files of its own has others (systemd.exec(5)). */
function ownDirectories(mountinfo: string): readonly string[] {
  const own = mountinfo.split("\n").flatMap((line) => {
    const [, , , root = "", path = ""] = line.split(" ");
    return /(^|\/)systemd-private-[0-9a-f]+-/.test(root) ? [path] : [];
  });
  return own.length === 0 ? [] : [...own, "/dev", "/run/user"];
}

/** Where other file systems begin than that of a path. These are not even inspected: each may never answer. */
function otherMounts(mountinfo: string, path: string): readonly string[] {
  const mounts = parseMountinfo(mountinfo);
  const mountAt = createMountLookup(mounts);
  const device = mountAt(path)?.device;
  return mounts.flatMap((mount) => (mount.device !== device && mountAt(mount.path) === mount ? [mount.path] : []));
}

/** Of a path with a name that no file can have, or with links that lead round in a circle. */
const leadsNowhere = (error: unknown): boolean => ["ENAMETOOLONG", "ELOOP"].includes(errnoCode(error) ?? "");

const isWithin = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`);
const below = (path: Buffer, name: Buffer): Buffer =>
  Buffer.concat(path.length === 1 ? [path, name] : [path, Buffer.from("/"), name]);

const bytesOf = ({ blocks }: Stats): number => blocks * 512;

interface Walk {
  readonly device: number;
  readonly totals: ReturnType<typeof createTotals>;
  readonly own: ReadonlySet<string>;
  readonly others: ReadonlySet<string>;
  /** Files with several names that have been counted. */
  readonly linked: Set<number>;
  /** Directories that give no answer. */
  readonly silent: string[];
  readonly isOver: () => boolean;
  /** Before anything in a directory is touched, and now and then while it is read. */
  readonly begin: Looking<DirectoryAnswer>["begin"];
}

/** The directory that was meant, and no other that has been put in its place meanwhile. */
function openDirectory(path: Buffer, { dev, ino }: Pick<Stats, "dev" | "ino">): number | undefined {
  const fd = openSync(path, noFollow);
  const found = fstatSync(fd);
  if (found.dev === dev && found.ino === ino) return fd;
  closeSync(fd);
  return undefined;
}

function take(walk: Walk, directory: Directory, path: Buffer, here: Buffer): Directory | undefined {
  const { totals, device, own, others, linked } = walk;
  const text = path.toString("utf8");
  if (own.has(text)) totals.unreadable(text);
  else if (others.has(text)) totals.elsewhere(text);
  if (own.has(text) || others.has(text)) return undefined;
  const found = orUndefinedSync(() => lstatSync(here));
  if (found === undefined) return undefined;
  if (found.isDirectory()) {
    if (found.dev === device) return totals.enter(directory, path, found);
    totals.elsewhere(text);
    return undefined;
  }
  const isCounted = found.nlink > 1 && linked.has(found.ino);
  if (found.nlink > 1) linked.add(found.ino);
  totals.file(directory, { path: text, bytes: isCounted ? 0 : bytesOf(found), modifiedAt: Math.floor(found.mtimeMs) });
  return undefined;
}

/** Reads one directory, and adds those in it to what is waiting. */
function readDirectory(walk: Walk, directory: Directory, waiting: Directory[]): void {
  const { totals, isOver, silent, begin } = walk;
  const text = directory.path.toString("utf8");
  if (!begin(text)) {
    silent.push(text);
    totals.unreadable(text);
    return;
  }
  const fd = openDirectory(directory.path, directory);
  if (fd === undefined) return;
  try {
    // Names are bytes; the types of Node know only the names of encodings here.
    const options = { encoding: "buffer" as BufferEncoding, bufferSize: namesAtOnce };
    const here = Buffer.from(`/proc/self/fd/${fd}`);
    const names = opendirSync(here, options);
    try {
      for (let read = 1; ; read += 1) {
        if (isOver()) return;
        if (read % namesAtOnce === 0) begin(text);
        const entry = names.readSync();
        if (entry === null) break;
        const name = entry.name as unknown as Buffer;
        const next = take(walk, directory, below(directory.path, name), below(here, name));
        if (next !== undefined) waiting.push(next);
      }
      totals.leave(directory);
    } finally {
      names.closeSync();
    }
  } finally {
    closeSync(fd);
  }
}

function walkDirectories(walk: Walk, root: Directory): void {
  const waiting: Directory[] = [root];
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    if (walk.isOver()) return;
    try {
      readDirectory(walk, directory, waiting);
    } catch (error) {
      const code = errnoCode(error);
      if (code === undefined || (directory === root && !isNotFound(error))) throw error;
      // Removed meanwhile, or it became something else.
      if (!isNotFound(error) && code !== "ELOOP") walk.totals.unreadable(directory.path.toString("utf8"));
      walk.totals.leave(directory);
    }
  }
}

function measure(wanted: DirectoryWanted, begin: Walk["begin"]): DirectoryAnswer {
  const { path, most } = wanted;
  const endsAt = performance.now() + most.ms;
  const mountinfo = readFileSync(wanted.mountinfo, "utf8");
  const own = ownDirectories(mountinfo);
  const hidden = own.find((each) => isWithin(path, each));
  if (hidden !== undefined)
    return {
      unavailable: `this service has a directory of its own in the place of ${hidden}`,
      details: { missing: hidden, retryable: false },
    };
  const found = orUndefinedSync(
    () => lstatSync(path),
    (error) => isNotFound(error) || leadsNowhere(error),
  );
  if (found === undefined) return { none: "it does not exist" };
  if (found.isSymbolicLink()) return { none: "it is a symbolic link" };
  if (!found.isDirectory()) return { none: "it is not a directory" };

  const totals = createTotals(wanted);
  const root = totals.enter(undefined, Buffer.from(path), found);
  let truncated: MeasuredDirectory["truncated"] = null;
  const over = (): MeasuredDirectory["truncated"] => {
    if (totals.entries() >= most.entries) return "entries";
    return performance.now() >= endsAt ? "time" : null;
  };
  const silent: string[] = [];
  walkDirectories(
    {
      ...{ device: found.dev, totals, begin, silent, linked: new Set() },
      ...{ own: new Set(own), others: new Set(otherMounts(mountinfo, path)) },
      isOver() {
        truncated ??= over();
        return truncated !== null;
      },
    },
    root,
  );
  return { measured: { path, ...totals.result(root), silent, truncated } };
}

/** One directory with all below it on its file system. */
export const sizesOfDirectory: Look<DirectoryWanted, DirectoryAnswer> = {
  name: "sizes",
  wholeMs: 30_000,
  look(wanted, { begin, answer }) {
    const { path } = wanted;
    if (!begin(path)) return;
    try {
      answer(path, measure(wanted, begin));
    } catch (error) {
      const code = errnoCode(error);
      if (code === undefined) throw error;
      const mayNot = isPermissionDenied(error);
      answer(path, {
        unavailable: mayNot ? `this service may not read ${path}` : `the kernel says ${code} of ${path}`,
        details: { missing: mayNot ? "rights" : path, retryable: !mayNot },
      });
    }
  },
};
