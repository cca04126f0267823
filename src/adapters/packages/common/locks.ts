import { readdir, readFile, readlink, realpath, stat } from "node:fs/promises";
import { isPermissionDenied, isProcessGone, orUndefined } from "#kernel/errors.ts";

export interface LockHolder {
  readonly pid: number;
  readonly program: string;
}

export function parseLocks(text: string): readonly { readonly pid: number; readonly inode: number }[] {
  return text.split("\n").flatMap((line) => {
    const [, pid, inode] = /^\d+: POSIX +\S+ +WRITE +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line) ?? [];
    return pid === undefined || pid === "0" ? [] : [{ pid: Number(pid), inode: Number(inode) }];
  });
}

/** Files that a process has open; none when it has ended. @throws EACCES, EPERM for processes of others. */
async function openFiles(proc: string, pid: number): Promise<readonly (string | undefined)[]> {
  const directory = `${proc}/${pid}/fd`;
  const names = (await orUndefined(readdir(directory), isProcessGone)) ?? [];
  return Promise.all(names.map((name) => orUndefined(readlink(`${directory}/${name}`), isProcessGone)));
}

export function createLockTable(proc = "/proc") {
  /** The number of the device in /proc/locks is not the one that stat gives on btrfs: the open files say which file it is. */
  async function hasOpen(pid: number, path: string): Promise<boolean> {
    try {
      return (await openFiles(proc, pid)).includes(path);
    } catch (error) {
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

/** Locks that are files with the number of a process, which count for as long as that process is one of these programs. */
export function createPidLocks(programs: readonly string[], proc = "/proc"): LockTable {
  const { program } = createLockTable(proc);

  const isPackageManager = async (pid: number): Promise<boolean> => {
    const text = (await orUndefined(readFile(`${proc}/${pid}/cmdline`, "utf8"), isProcessGone)) ?? "";
    return text.split(/[/\0]/).some((word) => programs.includes(word));
  };

  return {
    program,
    async holder(path) {
      const text = (await orUndefined(readFile(path, "utf8"), isProcessGone)) ?? "";
      const pid = Number(/^\s*([1-9]\d*)\s*$/.exec(text)?.[1]);
      if (!Number.isSafeInteger(pid) || !(await isPackageManager(pid))) return undefined;
      return { pid, program: await program(pid) };
    },
  };
}

const pidsIn = async (proc: string): Promise<readonly number[]> =>
  (await readdir(proc)).filter((name) => /^\d+$/.test(name)).map(Number);

/** Pacman's lock is an empty file that counts by being there; anyone who holds it has it open. */
export function createOpenLocks(proc = "/proc"): LockTable {
  const { program } = createLockTable(proc);

  const hasOpen = async (pid: number, path: string): Promise<boolean> => {
    try {
      return (await openFiles(proc, pid)).includes(path);
    } catch (error) {
      // An unprivileged service sees no open files of others; their names have to do.
      if (isPermissionDenied(error)) return /^(?:pacman|pamac|packagekitd)/.test(await program(pid));
      throw error;
    }
  };

  return {
    program,
    async holder(path): Promise<LockHolder | undefined> {
      const real = await orUndefined(realpath(path), isProcessGone);
      if (real === undefined) return undefined;
      for (const pid of await pidsIn(proc)) if (await hasOpen(pid, real)) return { pid, program: await program(pid) };
      return undefined;
    },
  };
}

export async function isLeftOver(path: string, { holder }: Pick<LockTable, "holder">): Promise<boolean> {
  const before = await orUndefined(stat(path, { bigint: true }), isProcessGone);
  if (before === undefined || (await holder(path)) !== undefined) return false;
  // Who had it open may have ended, and its lock with it, before its turn came.
  const after = await orUndefined(stat(path, { bigint: true }), isProcessGone);
  return after?.ino === before.ino && after.ctimeNs === before.ctimeNs;
}
