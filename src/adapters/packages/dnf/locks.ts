import { readFile } from "node:fs/promises";
import type { LockTable } from "../apt/locks.ts";
import { createLockTable } from "../apt/locks.ts";
import { isMissing, orUndefined } from "../files.ts";

/** Dnf's locks are files with the number of a process, which count for as long as that process is there. */
export function createPidLocks(proc = "/proc"): LockTable {
  const { program } = createLockTable(proc);

  /** A number that was given to another process meanwhile is not that of dnf. */
  const isPackageManager = async (pid: number): Promise<boolean> => {
    const words = await orUndefined(readFile(`${proc}/${pid}/cmdline`, "utf8"), isMissing);
    return /(?:^|[/\0])(?:dnf|yum|dnf-3|dnf-automatic|packagekitd|microdnf)(?:$|[-\0])/.test(words ?? "");
  };

  return {
    program,
    async holder(path) {
      const text = (await orUndefined(readFile(path, "utf8"), isMissing)) ?? "";
      const pid = Number(/^\s*([1-9]\d*)\s*$/.exec(text)?.[1]);
      if (!Number.isSafeInteger(pid) || !(await isPackageManager(pid))) return undefined;
      return { pid, program: await program(pid) };
    },
  };
}
