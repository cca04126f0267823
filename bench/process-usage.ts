import { readFileSync } from "node:fs";

/** Linux counts processor time for other programs in hundredths of a second, on every architecture of ours. */
const ticksPerSecond = 100;

/** Processor seconds that a process, or one thread of it, has used: proc_pid_stat(5), fields 14 and 15. */
export function cpuSeconds(pid: number, thread?: number): number {
  const text = readFileSync(thread === undefined ? `/proc/${pid}/stat` : `/proc/${pid}/task/${thread}/stat`, "latin1");
  // The name in the second field may hold anything, also a parenthesis.
  const [utime = 0, stime = 0] = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (utime + stime) / ticksPerSecond;
}

/** Resident memory in MiB of the text of /proc/PID/status, proc_pid_status(5). */
export const residentOf = (status: string): number => Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;

export const residentMib = (pid: number): number => residentOf(readFileSync(`/proc/${pid}/status`, "utf8"));
