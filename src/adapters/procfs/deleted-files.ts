import { readdirSync, readlinkSync, statSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ifInReach } from "#adapters/exec/proc.ts";
import type { DeletedFiles, Process } from "#domain/ports/processes.ts";

/** Processes inspected between two turns of the event loop. */
const batchSize = 16;
/** How the kernel writes the path of a file without a name (proc_pid_fd(5)). */
const deleted = " (deleted)";
/** Memory that programs share, which is on no disk. */
const memory = /^\/(?:memfd:|SYSV|dev\/zero)/;

/** Deleted files that a process has open; undefined where this user may not look at it. */
function deletedOf(procDir: string, pid: number): DeletedFiles | undefined {
  const dir = `${procDir}/${pid}/fd`;
  const names = ifInReach(() => readdirSync(dir));
  if (names === undefined) return undefined;
  const files = new Map<string, { readonly path: string; readonly bytes: number }>();
  for (const name of names) {
    const target = ifInReach(() => readlinkSync(`${dir}/${name}`));
    if (target === undefined || !target.startsWith("/") || !target.endsWith(deleted) || memory.test(target)) continue;
    const found = ifInReach(() => statSync(`${dir}/${name}`));
    // A file that is called so has a name.
    if (found?.isFile() === true && found.nlink === 0)
      files.set(`${found.dev}:${found.ino}`, { path: target.slice(0, -deleted.length), bytes: found.blocks * 512 });
  }
  const ordered = [...files.values()].sort((a, b) => b.bytes - a.bytes);
  const bytes = ordered.reduce((sum, file) => sum + file.bytes, 0);
  return { count: ordered.length, bytes, largest: ordered[0]?.path ?? null };
}

/** Deleted files that processes have open, by process id; without processes that this user may not look at. */
export async function readDeletedFiles(
  procDir: string,
  processes: readonly Pick<Process, "pid" | "isKernelThread">[],
): Promise<ReadonlyMap<number, DeletedFiles>> {
  const found = new Map<number, DeletedFiles>();
  for (const [at, { pid, isKernelThread }] of processes.entries()) {
    if (at % batchSize === batchSize - 1) await nextTurn();
    const files = isKernelThread ? undefined : deletedOf(procDir, pid);
    if (files !== undefined) found.set(pid, files);
  }
  return found;
}
