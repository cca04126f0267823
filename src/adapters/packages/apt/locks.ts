import { readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { isPermissionDenied, isProcessGone, orUndefined } from "#kernel/errors.ts";

/** A process that holds a lock. */
export interface LockHolder {
  readonly pid: number;
  readonly program: string;
}

/** The locks of whole files and parts of them in /proc/locks that are held, not waited for, by a process that can be seen. */
export function parseLocks(text: string): readonly { readonly pid: number; readonly inode: number }[] {
  return text.split("\n").flatMap((line) => {
    const [, pid, inode] = /^\d+: POSIX +\S+ +WRITE +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line) ?? [];
    return pid === undefined || pid === "0" ? [] : [{ pid: Number(pid), inode: Number(inode) }];
  });
}

/** Names of processes and who holds what. */
export function createLockTable(proc = "/proc") {
  /** The number of the device in /proc/locks is not the one that stat tells on btrfs: the open files say which file it is. */
  async function hasOpen(pid: number, path: string): Promise<boolean> {
    const folder = `${proc}/${pid}/fd`;
    try {
      const open = await Promise.all(
        (await readdir(folder)).map((name) => orUndefined(readlink(`${folder}/${name}`), isProcessGone)),
      );
      return open.includes(path);
    } catch (error) {
      if (isProcessGone(error)) return false;
      // An unprivileged service sees no open files of others; the number of the file has to do.
      if (isPermissionDenied(error)) return true;
      throw error;
    }
  }

  async function program(pid: number): Promise<string> {
    return (
      (await orUndefined(readFile(`${proc}/${pid}/comm`, "utf8"), isProcessGone)) ?? "a process that has ended"
    ).trim();
  }

  return {
    program,
    /** Who holds the lock of a file; undefined where nobody does. */
    async holder(path: string): Promise<LockHolder | undefined> {
      const file = await orUndefined(stat(path), isProcessGone);
      if (file === undefined) return undefined;
      const held = parseLocks((await orUndefined(readFile(`${proc}/locks`, "utf8"), isProcessGone)) ?? "");
      for (const { pid, inode } of held) {
        if (inode === file.ino && (await hasOpen(pid, await realpath(path))))
          return { pid, program: await program(pid) };
      }
      return undefined;
    },
  };
}

export type LockTable = ReturnType<typeof createLockTable>;
