import type { Context } from "#contract/operation.ts";
import type { ProcessEntry, ProcessList, ProcessUnit } from "#contract/processes.ts";
import { missingScope } from "#domain/common/error.ts";
import { redact } from "#domain/common/redact.ts";
import type { Process, Processes, ProcessIo, SampledProcess } from "#domain/ports/processes.ts";
import { toTimestamp } from "#kernel/clock.ts";
import {
  createSelection,
  mayUse,
  type ProcessQuery as Query,
  type ShownProcess,
  type UnitRights,
  type UnitsOfProcesses,
} from "./process-selection.ts";

/** What of a command line is shown, in characters. */
const maxCommand = 512;
const maxFullCommand = 16 * 1024;

const round = (value: number): number => Math.round(value * 10) / 10;

function bySums(a: ProcessUnit, b: ProcessUnit, key: "cpu_percent" | "memory_bytes"): number {
  return b[key] - a[key] || (a.unit ?? "").localeCompare(b.unit ?? "");
}

function sumsByUnit(
  found: readonly SampledProcess[],
  unitOf: UnitsOfProcesses,
  order: NonNullable<Query["sort"]>,
): ProcessUnit[] {
  const sums = new Map<string | null, ProcessUnit>();
  for (const { pid, threads, cpuPercent, memoryBytes } of found) {
    const unit = unitOf.get(pid) ?? null;
    const sum = sums.get(unit) ?? { unit, processes: 0, threads: 0, cpu_percent: 0, memory_bytes: 0 };
    sum.processes += 1;
    sum.threads += threads;
    sum.cpu_percent += cpuPercent;
    sum.memory_bytes += memoryBytes;
    sums.set(unit, sum);
  }
  const key = order === "memory" ? "memory_bytes" : "cpu_percent";
  return [...sums.values()]
    .sort((a, b) => bySums(a, b, key))
    .map((sum) => ({ ...sum, cpu_percent: round(sum.cpu_percent) }));
}

const bytesOf = (io: ProcessIo | undefined): number => (io === undefined ? -1 : io.readBytes + io.writtenBytes);

function sorted(
  found: readonly SampledProcess[],
  order: NonNullable<Query["sort"]>,
  io: ReadonlyMap<number, ProcessIo>,
): readonly SampledProcess[] {
  const value = (process: SampledProcess): number => {
    if (order === "io") return bytesOf(io.get(process.pid));
    return order === "memory" ? process.memoryBytes : process.cpuPercent;
  };
  const rank = ({ memoryBytes }: SampledProcess): number => memoryBytes;
  return found.toSorted((a, b) => value(b) - value(a) || rank(b) - rank(a) || a.pid - b.pid);
}

/** A command line for people: on one line, cut. */
const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

const hiddenNote =
  "processes of other users are hidden from this service (ProtectProc= of its unit, or the mount option hidepid= of /proc)";
const ioNote = "the kernel shows the input and output of processes to their own user and to root alone";
const userNote = "users of some processes are hidden from this service, which runs in a user namespace of its own";
const commandNote = "some command lines could not be read";

/** Lists processes. Pure but for its ports. */
export function createProcessList(ports: { readonly processes: Processes; readonly rights: UnitRights }) {
  const { processes, rights } = ports;
  const { select, complete } = createSelection(ports);

  const toEntry = (
    process: ShownProcess,
    io: ProcessIo | undefined,
    text: string | undefined,
    isFull: boolean,
  ): ProcessEntry => ({
    pid: process.pid,
    ppid: process.parentPid,
    name: process.name,
    user: process.user,
    unit: process.unit,
    start_time: toTimestamp(process.startedAt),
    state: process.state,
    threads: process.threads,
    cpu_percent: round(process.cpuPercent),
    memory_bytes: process.memoryBytes,
    io: io === undefined ? null : { read_bytes: io.readBytes, written_bytes: io.writtenBytes },
    command: text === undefined ? null : isFull ? cut(text, maxFullCommand) : cut(redact(text).text, maxCommand),
    is_kernel_thread: process.isKernelThread,
  });

  return async (query: Query, { caller, touched }: Pick<Context, "caller" | "touched">): Promise<ProcessList> => {
    const { sort = "cpu", limit = 100, by_unit: byUnit = false, full_command: wantsFull = false } = query;
    const scopes = caller?.scopes ?? [];
    if (wantsFull && caller !== undefined && rights.unitsOf(caller, "processes:commands").length === 0)
      throw missingScope("processes:commands", scopes);
    const sample = await processes.sample();
    const { found, unitOf } = await select(sample.processes, query, caller);
    const ioOfAll = sort === "io" ? await processes.io(found) : new Map<number, ProcessIo>();
    const { shown, ended } = await complete(sorted(found, sort, ioOfAll), limit);
    const io = sort === "io" ? ioOfAll : await processes.io(shown);
    const commands = await processes.commands(shown);
    const isFull = ({ unit }: Process): boolean => wantsFull && mayUse(rights, caller, "processes:commands", unit);
    const entries = shown.map((each) => toEntry(each, io.get(each.pid), commands.get(each.pid), isFull(each)));
    // Secrets may have been shown.
    if (wantsFull) touched({ full_command: "true", ...(query.unit !== undefined && { unit: query.unit }) });
    const notes = [
      ...(sample.hidesOthers ? [hiddenNote] : []),
      ...(entries.some((entry) => entry.io === null && !entry.is_kernel_thread) ? [ioNote] : []),
      ...(entries.some(({ user }) => user === null) ? [userNote] : []),
      ...(entries.some(({ command }) => command === null) ? [commandNote] : []),
    ];
    return {
      processes: entries,
      total: found.length - ended,
      ...(byUnit && unitOf !== undefined && { units: sumsByUnit(found, unitOf, sort) }),
      sampled_at: toTimestamp(sample.takenAt),
      cpu_seconds: sample.spanMs / 1000,
      is_complete: !sample.hidesOthers,
      notes,
    };
  };
}
