import type { Process } from "#domain/ports/processes.ts";

export interface ProcessStat {
  readonly pid: number;
  readonly name: string;
  /** The kernel's letter. */
  readonly state: string;
  readonly parentPid: number;
  readonly isKernelThread: boolean;
  /** User and system time, in clock ticks. */
  readonly cpuTicks: number;
  readonly threads: number;
  /** Since boot, in clock ticks. */
  readonly startTicks: number;
  readonly residentPages: number;
}

/** `PF_KTHREAD` of the kernel's include/linux/sched.h. */
const kernelThreadFlag = 0x00200000;

/** Fields of proc_pid_stat(5), counted from the one behind the state, which is the third. */
const fields = { parent: 0, flags: 5, user: 10, system: 11, threads: 16, start: 18, resident: 20 } as const;

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a;

/**
 * Reads numbers that spaces separate, NaN for anything that is not a number. A line is not split: of its fifty words few are needed, and there are many
 * lines.
 */
function readNumbers(text: string, from: number, into: Float64Array): void {
  let at = from;
  for (let field = 0; field < into.length; field += 1) {
    let value = at < text.length ? 0 : Number.NaN;
    for (; at < text.length && !isSpace(text.charCodeAt(at)); at += 1) {
      const digit = text.charCodeAt(at) - 0x30;
      value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN;
    }
    into[field] = value;
    at += 1;
  }
}

const numbers = new Float64Array(fields.resident + 1);

/**
 * /proc/PID/stat, proc_pid_stat(5). The name stands in brackets, and may itself hold brackets, spaces and line breaks; what follows it
 * holds none.
 */
export function parseProcessStat(text: string): ProcessStat | undefined {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  const pid = text.slice(0, open - 1);
  if (open < 2 || close < open || !/^\d+$/.test(pid)) return undefined;
  readNumbers(text, close + 4, numbers);
  const number = (at: number): number => numbers[at] ?? Number.NaN;
  const stat = {
    pid: Number(pid),
    name: text.slice(open + 1, close),
    state: text.charAt(close + 2),
    parentPid: number(fields.parent),
    isKernelThread: (number(fields.flags) & kernelThreadFlag) !== 0,
    cpuTicks: number(fields.user) + number(fields.system),
    threads: number(fields.threads),
    startTicks: number(fields.start),
    residentPages: number(fields.resident),
  };
  const sum = stat.parentPid + stat.cpuTicks + stat.threads + stat.startTicks + stat.residentPages;
  return Number.isNaN(sum) ? undefined : stat;
}

const states: Readonly<Record<string, Process["state"]>> = {
  R: "running",
  S: "sleeping",
  D: "disk_sleep",
  T: "stopped",
  t: "traced",
  Z: "zombie",
  X: "dead",
  I: "idle",
  P: "parked",
};

export const processState = (letter: string): Process["state"] => states[letter] ?? "unknown";

/** What of /proc/PID/io goes to and comes from disks (proc_pid_io(5)). */
export function parseIo(text: string): { readonly readBytes: number; readonly writtenBytes: number } | undefined {
  const found = (name: string): string | undefined => new RegExp(`^${name}: (\\d+)$`, "m").exec(text)?.[1];
  const [read, written] = [found("read_bytes"), found("write_bytes")];
  return read === undefined || written === undefined
    ? undefined
    : { readBytes: Number(read), writtenBytes: Number(written) };
}

/** The words of /proc/PID/cmdline. A program may have overwritten them with one text, as some do to say what they are at. */
export const parseCommand = (text: string): string => text.replace(/\0+$/, "").replaceAll("\0", " ");

const auxiliary = { pageBytes: 6, ticksPerSecond: 17 } as const;

/** Size of a page and ticks of a second, by /proc/self/auxv of a 64-bit process in the byte order of this one (getauxval(3)). */
export function parseAuxiliary(bytes: Buffer, isLittle: boolean): { pageBytes: number; ticksPerSecond: number } {
  const word = (at: number): number => Number(isLittle ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at));
  const found = { pageBytes: 4096, ticksPerSecond: 100 };
  for (let at = 0; at + 16 <= bytes.length; at += 16) {
    if (word(at) === auxiliary.pageBytes) found.pageBytes = word(at + 8);
    if (word(at) === auxiliary.ticksPerSecond) found.ticksPerSecond = word(at + 8);
  }
  return found;
}
