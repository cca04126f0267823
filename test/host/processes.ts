import { readFileSync, readlinkSync } from "node:fs";

/** A process that cannot be mistaken for a later one with the same number. */
export type ProcessId = { pid: number; startTime: string };

/** @returns the process with this number, or nothing if there is none (or only its remains, waiting for their parent). */
export function findProcess(pid: number): ProcessId | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, in parentheses, may hold spaces: the fields are counted from its end (proc(5): state is 3, starttime is 22).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const startTime = fields[19];
    if (startTime === undefined || fields[0] === "Z") return undefined;
    return { pid, startTime };
  } catch {
    return undefined;
  }
}

/** What a process is and what it waits for, for a message. */
export function describeProcess(pid: number): string {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const [, name] = /^Name:\s*(.*)$/m.exec(status) ?? [];
    const [, state] = /^State:\s*(.*)$/m.exec(status) ?? [];
    return `${name} (${pid}) is in state ${state}, ${readFileSync(`/proc/${pid}/wchan`, "utf8")}`;
  } catch {
    return `${pid} has ended`;
  }
}

/** This process. */
export function ownProcess(): ProcessId {
  const own = findProcess(process.pid);
  if (own === undefined) throw new Error("cannot read /proc/self/stat: is /proc mounted?");
  return own;
}

/** Whether exactly this process is still there. */
export function isAlive(id: ProcessId): boolean {
  return findProcess(id.pid)?.startTime === id.startTime;
}

/** Ends exactly this process at once; gone already is fine. */
export function killProcess(id: ProcessId): void {
  if (!isAlive(id)) return;
  try {
    process.kill(id.pid, "SIGKILL");
  } catch {
    // It ended between the look and the signal.
  }
}

/** The direct children of a process. */
export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return text.trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Whether a process is the first one of a process namespace of its own. */
export function isInit(pid: number): boolean {
  try {
    const line = /^NSpid:(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    const numbers = line?.trim().split(/\s+/) ?? [];
    return numbers.length > 1 && numbers.at(-1) === "1";
  } catch {
    return false;
  }
}

/** Whether a process has another network than this one. */
export function hasOwnNetwork(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`) !== readlinkSync("/proc/self/ns/net");
  } catch {
    return false;
  }
}
