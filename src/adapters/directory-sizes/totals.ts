import type { Stats } from "node:fs";
import type {
  DirectoryOptions,
  MeasuredDirectory,
  NamedPaths,
  UsageEntry,
  WrittenFile,
} from "#domain/ports/disk-usage.ts";

const mostNamed = 100;

/** A directory that has been found; it is read later. */
export interface Directory {
  readonly path: Buffer;
  readonly dev: number;
  readonly ino: number;
  /** Levels below the first. */
  readonly level: number;
  /** What it is counted in: its own sum, or that of the directory at the deepest level that is reported. */
  readonly sum: Sum;
}

interface Sum {
  readonly path: string;
  readonly parent: Sum | undefined;
  bytes: number;
  entries: number;
  /** Directories in it that are not read yet, itself among them. */
  unread: number;
}

function createNames() {
  const paths: string[] = [];
  let total = 0;
  return {
    add: (path: string): void => {
      total += 1;
      if (paths.length < mostNamed) paths.push(path);
    },
    result: (): NamedPaths => ({ total, paths }),
  };
}

function addTo(sum: Sum, bytes: number, entries: number, unread: number): void {
  for (let each: Sum | undefined = sum; each !== undefined; each = each.parent) {
    each.bytes += bytes;
    each.entries += entries;
    each.unread += unread;
  }
}

const bySize = (a: WrittenFile | UsageEntry, b: WrittenFile | UsageEntry): number =>
  b.bytes - a.bytes || (a.path < b.path ? -1 : 1);
const byEntries = (a: UsageEntry, b: UsageEntry): number => b.entries - a.entries || bySize(a, b);

/** Adds up what a walk finds. */
export function createTotals({ depth, limit, sort, writtenSince }: DirectoryOptions) {
  const inOrder = sort === "bytes" ? bySize : byEntries;
  const unreadable = createNames();
  const elsewhere = createNames();
  const sums: Sum[] = [];
  let files: UsageEntry[] = [];
  let written: WrittenFile[] = [];
  let count = 0;

  return {
    entries: (): number => count,
    unreadable: unreadable.add,
    elsewhere: elsewhere.add,
    enter(parent: Directory | undefined, path: Buffer, { dev, ino, blocks }: Stats): Directory {
      const level = parent === undefined ? 0 : parent.level + 1;
      let sum = parent?.sum;
      if (sum === undefined || level <= depth) {
        sum = { path: path.toString("utf8"), parent: sum, bytes: 0, entries: 0, unread: 0 };
        sums.push(sum);
      }
      addTo(sum, blocks * 512, 0, 1);
      if (parent !== undefined) {
        addTo(parent.sum, 0, 1, 0);
        count += 1;
      }
      return { path, dev, ino, level, sum };
    },
    file(parent: Directory, file: WrittenFile): void {
      const { path, bytes } = file;
      addTo(parent.sum, bytes, 1, 0);
      count += 1;
      if (bytes > 0 && file.modifiedAt >= writtenSince) {
        written.push(file);
        if (written.length > 4 * limit) written = written.toSorted(bySize).slice(0, limit);
      }
      if (parent.level >= depth) return;
      files.push({ path, isDirectory: false, bytes, entries: 0, isComplete: true });
      if (files.length > 4 * limit) files = files.toSorted(inOrder).slice(0, limit);
    },
    leave: ({ sum }: Directory): void => addTo(sum, 0, 0, -1),
    result(root: Directory): Omit<MeasuredDirectory, "path" | "silent" | "truncated"> {
      const directories = sums
        .filter((sum) => sum !== root.sum)
        .map(({ path, bytes, entries, unread }) => ({
          path,
          isDirectory: true,
          bytes,
          entries,
          isComplete: unread === 0,
        }));
      return {
        bytes: root.sum.bytes,
        entries: root.sum.entries,
        largest: [...directories, ...files].toSorted(inOrder).slice(0, limit),
        written: written.toSorted(bySize).slice(0, limit),
        unreadable: unreadable.result(),
        otherFileSystems: elsewhere.result(),
      };
    },
  };
}
