import type { Traffic } from "#domain/ports/host-samples.ts";

export interface CpuInfo {
  readonly model: string;
  readonly cores: number;
  readonly threads: number;
}

/** Keys that name the processor, best first: x86, MIPS, ARM ("Processor", where "processor" is a number), POWER and RISC-V; then the board. */
const modelKeys = ["model name", "cpu model", "processor", "cpu", "uarch", "model", "hardware"];

const isDigits = (text: string | undefined): boolean => text !== undefined && /^\d+$/.test(text);

/**
 * /proc/cpuinfo, in which each architecture has its own keys and layout: a processor begins with its number, with or without an empty
 * line before. On IBM Z each has a line of its own (`processor 0: version = …, machine = 8561`), and newer kernels a block (`cpu number`) as well.
 * `model` is empty where the kernel does not name it (many ARM machines).
 */
export function parseCpuInfo(text: string): CpuInfo {
  const names = new Map<string, string>();
  const processors = new Map<string, Map<string, string>>();
  let current = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, given = "", value = ""] = /^([^:]+?)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    const key = given.toLowerCase();
    const isNumber = isDigits(value);
    const number = isNumber && /^(processor|cpu number)$/.test(key) ? value : /^processor (\d+)$/.exec(key)?.[1];
    if (number !== undefined) {
      current = processors.get(number) ?? new Map();
      processors.set(number, current);
    }
    current.set(key, value);
    if (!isNumber && !names.has(key)) names.set(key, value);
  }
  const cores = [...processors].map(([number, block]) => {
    const socket = block.get("physical id") ?? block.get("package") ?? "0";
    return `${socket}/${block.get("core id") ?? block.get("core") ?? number}`;
  });
  const machine = /\bmachine = (\w+)/.exec(names.get("processor 0") ?? "")?.[1];
  const model = modelKeys.map((key) => names.get(key)).find((name) => name !== undefined && name !== "");
  const ofMainframe = machine === undefined ? "" : `${names.get("vendor_id") ?? ""} ${machine}`.trim();
  return { model: model ?? ofMainframe, cores: new Set(cores).size, threads: processors.size };
}

export interface CpuTimes {
  readonly total: number;
  /** Waiting for disks included. */
  readonly idle: number;
  readonly ioWait: number;
}

/** First line of /proc/stat, proc(5). Guest time is part of user time already. */
export function parseCpuTimes(text: string): CpuTimes {
  const line = text.slice(0, text.indexOf("\n"));
  const [user = 0, nice = 0, system = 0, idle = 0, ioWait = 0, irq = 0, softIrq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return { total: user + nice + system + idle + ioWait + irq + softIrq + steal, idle: idle + ioWait, ioWait };
}

const kib = (text: string, name: string): number | undefined => {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1];
  return found === undefined ? undefined : Number(found) * 1024;
};

export interface Memory {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

/**
 * /proc/meminfo. Kernels before 3.14 have no MemAvailable; free, buffers and cache come nearest.
 * @param arcstats of ZFS, whose cache the kernel does not count as one; empty where there is none.
 */
export function parseMemory(text: string, arcstats = ""): Memory {
  const totalBytes = kib(text, "MemTotal") ?? 0;
  const estimate = (kib(text, "MemFree") ?? 0) + (kib(text, "Buffers") ?? 0) + (kib(text, "Cached") ?? 0);
  const available = (kib(text, "MemAvailable") ?? estimate) + parseShrinkable(arcstats);
  return { totalBytes, availableBytes: Math.min(totalBytes, available) };
}

/** /proc/spl/kstat/zfs/arcstats: what the cache of ZFS gives back where memory is wanted, all but its minimum. */
function parseShrinkable(arcstats: string): number {
  const value = (name: string): number =>
    Number(new RegExp(`^${name}\\s+\\d+\\s+(\\d+)$`, "m").exec(arcstats)?.[1] ?? 0);
  return Math.max(0, value("size") - value("c_min"));
}

export const parseSwap = (text: string): { readonly swapTotalBytes: number; readonly swapFreeBytes: number } => ({
  swapTotalBytes: kib(text, "SwapTotal") ?? 0,
  swapFreeBytes: kib(text, "SwapFree") ?? 0,
});

export function parseCpuMax(text: string): number | undefined {
  const [quota = "max", period = "100000"] = text.trim().split(/\s+/);
  const share = Number(quota) / Number(period);
  return quota !== "max" && share > 0 ? share : undefined;
}

/** /proc/loadavg: the averages of one and of fifteen minutes; undefined where it says something else. */
export function parseLoad(text: string): { readonly oneMinute: number; readonly fifteenMinutes: number } | undefined {
  const [, one, fifteen] = /^([\d.]+) [\d.]+ ([\d.]+) /.exec(text) ?? [];
  return one === undefined ? undefined : { oneMinute: Number(one), fifteenMinutes: Number(fifteen) };
}

const sectorBytes = 512;

/** /proc/diskstats: bytes read and written, of partitions too. Kernels before 2.6.25 say less of partitions, which are left out. */
export function parseDiskTraffic(text: string): Traffic {
  const rows = text.split("\n").map((line) => line.trim().split(/\s+/));
  return new Map(
    rows.flatMap(([, , name, , , read, , , , written]) =>
      name === undefined || written === undefined
        ? []
        : [[name, [Number(read) * sectorBytes, Number(written) * sectorBytes]] as const],
    ),
  );
}

/** /proc/net/dev: bytes received and sent by each link. */
export function parseLinkTraffic(text: string): Traffic {
  const found = text.matchAll(/^ *([^\s:]+): *(\d+)(?: +\d+){7} +(\d+) /gm);
  return new Map(Array.from(found, ([, name = "", received, sent]) => [name, [Number(received), Number(sent)]]));
}
