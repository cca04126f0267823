import { readFile } from "node:fs/promises";
import { isProcessGone, orUndefined } from "#kernel/errors.ts";
import type { LockTable } from "../apt/locks.ts";
import { createLockTable } from "../apt/locks.ts";

/** Locks that are files with the number of a process, which count for as long as that process is one of these programs. */
export function createPidLocks(programs: readonly string[], proc = "/proc"): LockTable {
  const { program } = createLockTable(proc);

  /** A number that was given to another process meanwhile is not that of a package manager. */
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
