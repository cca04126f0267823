import { readdir, readlink, realpath, stat } from "node:fs/promises";
import { isPermissionDenied, isProcessGone, orUndefined } from "#kernel/errors.ts";
import type { LockHolder, LockTable } from "../apt/locks.ts";
import { createLockTable } from "../apt/locks.ts";

/** A process may end while it is looked at. */
const pidsIn = async (proc: string): Promise<readonly number[]> =>
  (await readdir(proc)).filter((name) => /^\d+$/.test(name)).map(Number);

/**
 * Pacman's lock is a file that is empty and locked by nothing: it counts by being there. Who made it has it open until it is
 * removed, so that a lock that nobody has open is left over from somebody who was killed.
 */
export function createOpenLocks(proc = "/proc"): LockTable {
  const { program } = createLockTable(proc);

  const hasOpen = async (pid: number, path: string): Promise<boolean> => {
    const folder = `${proc}/${pid}/fd`;
    try {
      const names = (await orUndefined(readdir(folder), isProcessGone)) ?? [];
      const targets = await Promise.all(names.map((name) => orUndefined(readlink(`${folder}/${name}`), isProcessGone)));
      return targets.includes(path);
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

/** Whether a lock is there that nobody has open. */
export async function isLeftOver(path: string, { holder }: Pick<LockTable, "holder">): Promise<boolean> {
  const before = await orUndefined(stat(path, { bigint: true }), isProcessGone);
  if (before === undefined || (await holder(path)) !== undefined) return false;
  // Who had it open may have ended, and its lock with it, before its turn came.
  const after = await orUndefined(stat(path, { bigint: true }), isProcessGone);
  return after?.ino === before.ino && after.ctimeNs === before.ctimeNs;
}
