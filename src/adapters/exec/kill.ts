import type { ChildProcess } from "node:child_process";

/** Kills a child and its process group. A process that has left the group may hold the outputs open: they are closed here. */
export function killGroup({ pid, stdin, stdout, stderr }: ChildProcess): void {
  for (const stream of [stdin, stdout, stderr]) stream?.destroy();
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // ESRCH: the group has ended meanwhile, which is what was wanted.
  }
}
