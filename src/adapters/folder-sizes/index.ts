import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, opendir, readFile } from "node:fs/promises";
import { posix } from "node:path";
import { type FolderSizes, FolderUnavailable, type MeasuredFolder, NoFolder } from "#domain/ports/disk-usage.ts";
import { createSlots, untilAborted } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { errnoCode, isNotFound, isPermissionDenied, orUndefined } from "#kernel/errors.ts";
import { createTotals, type Folder } from "./totals.ts";

const longestMs = 20_000;
const mostEntries = 1_000_000;
/** Reads of all walks at a time: the other threads of the process are for others, also where a disk hangs. */
const readsAtOnce = 2;
/** Names that one read of a folder gives. */
const namesAtOnce = 128;

const slots = createSlots(readsAtOnce);
const noFollow = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Folders in whose place a sandbox with temporary files of its own has others (systemd.exec(5)). */
function ownFolders(mountinfo: string): readonly string[] {
  const own = mountinfo.split("\n").flatMap((line) => {
    const [, , , root = "", path = ""] = line.split(" ");
    return /(^|\/)systemd-private-[0-9a-f]+-/.test(root) ? [path] : [];
  });
  return own.length === 0 ? [] : [...own, "/dev", "/run/user"];
}

/** Of a path with a name that no file can have, or with links that lead round in a circle. */
const leadsNowhere = (error: unknown): boolean => ["ENAMETOOLONG", "ELOOP"].includes(errnoCode(error) ?? "");

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
const below = (path: Buffer, name: Buffer): Buffer =>
  Buffer.concat(path.length === 1 ? [path, name] : [path, Buffer.from("/"), name]);

const bytesOf = ({ blocks }: Stats): number => blocks * 512;

interface Walk {
  readonly device: number;
  readonly totals: ReturnType<typeof createTotals>;
  readonly own: ReadonlySet<string>;
  /** Files with several names that have been counted. */
  readonly linked: Set<number>;
  readonly isOver: () => boolean;
  readonly within: <T>(work: () => Promise<T>) => Promise<T>;
}

/** The folder that was meant, and no other that has been put in its place meanwhile. */
async function openFolder(path: Buffer, { dev, ino }: Pick<Stats, "dev" | "ino">): Promise<FileHandle | undefined> {
  const handle = await open(path, noFollow);
  const found = await handle.stat();
  if (found.dev === dev && found.ino === ino) return handle;
  await handle.close();
  return undefined;
}

function take(walk: Walk, folder: Folder, path: Buffer, found: Stats): Folder | undefined {
  const { totals, device, own, linked } = walk;
  const text = path.toString("utf8");
  if (found.isDirectory()) {
    if (own.has(text)) totals.unreadable(text);
    else if (found.dev === device) return totals.enter(folder, path, found);
    else totals.elsewhere(text);
    return undefined;
  }
  const isCounted = found.nlink > 1 && linked.has(found.ino);
  if (found.nlink > 1) linked.add(found.ino);
  totals.file(folder, text, isCounted ? 0 : bytesOf(found));
  return undefined;
}

/** Reads one folder, and adds those in it to what is waiting. */
async function readFolder(walk: Walk, folder: Folder, waiting: Folder[]): Promise<void> {
  const { totals, isOver, within } = walk;
  const handle = await within(() => openFolder(folder.path, folder));
  if (handle === undefined) return;
  try {
    // Names are bytes; the types of Node know only the names of encodings here.
    const options = { encoding: "buffer" as BufferEncoding, bufferSize: namesAtOnce };
    const here = Buffer.from(`/proc/self/fd/${handle.fd}`);
    const names = await within(() => opendir(here, options));
    try {
      for (;;) {
        if (isOver()) return;
        const entry = await within(() => names.read());
        if (entry === null) break;
        const name = entry.name as unknown as Buffer;
        const found = await within(() => orUndefined(lstat(below(here, name))));
        const next = found && take(walk, folder, below(folder.path, name), found);
        if (next !== undefined) waiting.push(next);
      }
      totals.leave(folder);
    } finally {
      await names.close();
    }
  } finally {
    await handle.close();
  }
}

async function walkFolders(walk: Walk, root: Folder): Promise<void> {
  const waiting: Folder[] = [root];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    if (walk.isOver()) return;
    try {
      await readFolder(walk, folder, waiting);
    } catch (error) {
      const code = errnoCode(error);
      if (code === undefined || (folder === root && !isNotFound(error))) throw error;
      // Removed meanwhile, or it became something else.
      if (!isNotFound(error) && code !== "ELOOP") walk.totals.unreadable(folder.path.toString("utf8"));
      walk.totals.leave(folder);
    }
  }
}

/** Sizes of folders as this process may read them: a few reads at a time, which wait for each other. */
export function createFolderSizes(ports: {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly mountinfo?: string;
  readonly most?: { readonly entries: number; readonly ms: number };
}): FolderSizes {
  const { clock, mountinfo = "/proc/self/mountinfo", most = { entries: mostEntries, ms: longestMs } } = ports;

  const find = async (path: string, own: readonly string[]): Promise<Stats> => {
    const folder = own.find((each) => isWithin(path, each));
    if (folder !== undefined)
      throw new FolderUnavailable(`this service has a folder of its own in the place of ${folder}`, {
        ...{ missing: folder, retryable: false },
      });
    const found = await orUndefined(lstat(path), (error) => isNotFound(error) || leadsNowhere(error));
    if (found === undefined) throw new NoFolder("it does not exist");
    if (found.isSymbolicLink()) throw new NoFolder("it is a symbolic link");
    if (!found.isDirectory()) throw new NoFolder("it is not a directory");
    return found;
  };

  return {
    async measure(given, { depth, limit }, signal): Promise<MeasuredFolder> {
      const path = posix.resolve(given);
      const endsAt = clock.monotonicMs() + most.ms;
      const own = ownFolders(await readFile(mountinfo, "utf8"));
      try {
        const found = await untilAborted(find(path, own), signal);
        const totals = createTotals({ depth, limit });
        const root = totals.enter(undefined, Buffer.from(path), found);
        const over = (): MeasuredFolder["truncated"] => {
          if (totals.entries() >= most.entries) return "entries";
          return clock.monotonicMs() >= endsAt ? "time" : null;
        };
        let truncated: MeasuredFolder["truncated"] = null;
        const walk: Walk = {
          ...{ device: found.dev, totals, own: new Set(own), linked: new Set() },
          isOver() {
            signal.throwIfAborted();
            truncated ??= over();
            return truncated !== null;
          },
          within: (work) => slots(work, signal),
        };
        await untilAborted(walkFolders(walk, root), signal);
        return { path, ...totals.result(root), truncated };
      } catch (error) {
        const code = errnoCode(error);
        if (code === undefined) throw error;
        const mayNot = isPermissionDenied(error);
        throw new FolderUnavailable(
          mayNot ? `this service may not read ${path}` : `the kernel says ${code} of ${path}`,
          { missing: mayNot ? "rights" : path, retryable: !mayNot },
          error,
        );
      }
    },
  };
}
