import type { Context, Handlers } from "#contract/operation.ts";
import type { ProcessEntry, ProcessList, ProcessUnit, processes } from "#contract/processes.ts";
import { cursorBehind, pageStart } from "#domain/common/page.ts";
import { redact } from "#domain/common/redact.ts";
import type { DeletedFiles, Process, Processes, ProcessIo, SampledProcess } from "#domain/ports/processes.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { clipText } from "#kernel/text.ts";
import {
  createSelection,
  mayUse,
  type ProcessQuery as Query,
  type ShownProcess,
  type UnitRights,
  type UnitsOfProcesses,
} from "./process-selection.ts";
import { createSignals, type SignalPorts } from "./process-signal.ts";

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

/** What is asked of root, for all processes that are ordered by it. */
interface Dear {
  readonly io: ReadonlyMap<number, ProcessIo>;
  readonly deleted: ReadonlyMap<number, DeletedFiles>;
}

const bytesOf = (io: ProcessIo | undefined): number => (io === undefined ? -1 : io.readBytes + io.writtenBytes);

function sorted(
  found: readonly SampledProcess[],
  order: NonNullable<Query["sort"]>,
  { io, deleted }: Dear,
): readonly SampledProcess[] {
  if (order === "pid") return found.toSorted((a, b) => a.pid - b.pid);
  const value = (process: SampledProcess): number => {
    if (order === "io") return bytesOf(io.get(process.pid));
    if (order === "deleted") return deleted.get(process.pid)?.bytes ?? -1;
    return order === "memory" ? process.memoryBytes : process.cpuPercent;
  };
  const rank = ({ memoryBytes }: SampledProcess): number => memoryBytes;
  return found.toSorted((a, b) => value(b) - value(a) || rank(b) - rank(a) || a.pid - b.pid);
}

const processKey = ({ pid, startTicks }: SampledProcess): string => `${pid}@${startTicks}`;

/** A command line for people: on one line, cut. */

/** Command lines that are remembered without their secrets, and the longest of them. */
const maxRemembered = 512;
const maxRememberedChars = 2048;

/** Secrets are looked for once in each command line: from one look at the processes to the next they are the same. */
function createRedaction(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const shown = clipText(redact(text).text, maxCommand);
    if (text.length > maxRememberedChars) return shown;
    if (known.size >= maxRemembered) known.clear();
    known.set(text, shown);
    return shown;
  };
}

const hiddenNote =
  "processes of other users are hidden from this service (ProtectProc= of its unit, or the mount option hidepid= of /proc)";
const ioNote =
  "the input and output of some processes is not known: the kernel shows it to their own user and to root, who could not be asked or was asked before they started";
const deletedNote =
  "deleted files that some processes have open are not known: the kernel shows them to their own user and to root, who could not be asked";
const userNote = "users of some processes are hidden from this service, which runs in a user namespace of its own";
const commandNote = "some command lines could not be read";

/** Lists processes. Pure but for its ports. */
function createProcessList(ports: { readonly processes: Processes; readonly rights: UnitRights }) {
  const { processes, rights } = ports;
  const { select, complete } = createSelection(ports);
  const withoutSecrets = createRedaction();

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
    command: text === undefined ? null : isFull ? clipText(text, maxFullCommand) : withoutSecrets(text),
    is_kernel_thread: process.isKernelThread,
  });

  return async (query: Query, { caller, touched }: Pick<Context, "caller" | "touched">): Promise<ProcessList> => {
    const { sort = "cpu", limit = 100, cursor, by_unit: byUnit = false, full_command: wantsFull = false } = query;
    if (wantsFull && caller !== undefined && rights.unitsOf(caller, "processes:commands").length === 0)
      throw rights.lackOf(caller, "processes:commands");
    const sample = await processes.sample();
    const { found, unitOf } = await select(sample.processes, query, caller);
    const dear: Dear = {
      io: sort === "io" ? await processes.ioOfAll(found) : new Map(),
      deleted: sort === "deleted" ? await processes.deletedFiles(found) : new Map(),
    };
    const ordered = sorted(found, sort, dear);
    const start = pageStart(ordered, cursor, processKey);
    const { shown, ended } = await complete(ordered.slice(start), limit);
    const last = start + shown.length + ended - 1;
    const next = last + 1 < ordered.length ? ordered[last] : undefined;
    const io = sort === "io" ? dear.io : await processes.io(shown);
    const commands = await processes.commands(shown);
    const isFull = ({ unit }: Process): boolean => wantsFull && mayUse(rights, caller, "processes:commands", unit);
    const entries = shown.map((each) => ({
      ...toEntry(each, io.get(each.pid), commands.get(each.pid), isFull(each)),
      ...(sort === "deleted" && { deleted_files: dear.deleted.get(each.pid) ?? null }),
    }));
    // Secrets may have been shown.
    if (wantsFull) touched({ full_command: "true", ...(query.unit !== undefined && { unit: query.unit }) });
    const notes = [
      ...(sample.hidesOthers ? [hiddenNote] : []),
      ...(sort === "io" && entries.some((entry) => entry.io === null && !entry.is_kernel_thread) ? [ioNote] : []),
      ...(sort === "deleted" && entries.some((entry) => entry.deleted_files === null && !entry.is_kernel_thread)
        ? [deletedNote]
        : []),
      ...(entries.some(({ user }) => user === null) ? [userNote] : []),
      ...(entries.some(({ command }) => command === null) ? [commandNote] : []),
    ];
    return {
      processes: entries,
      total: found.length - ended,
      limit,
      next_cursor: next === undefined ? null : cursorBehind(last, processKey(next)),
      ...(byUnit && unitOf !== undefined && { units: sumsByUnit(found, unitOf, sort) }),
      sampled_at: toTimestamp(sample.takenAt),
      cpu_seconds: sample.spanMs / 1000,
      is_complete: !sample.hidesOthers,
      notes,
    };
  };
}

export function processHandlers(ports: SignalPorts & { readonly processes: Processes }): Handlers<typeof processes> {
  const list = createProcessList(ports);
  const signal = createSignals(ports);
  return {
    listProcesses: ({ query }, context) => list(query, context),
    signalProcess: (input, context) => signal(input, context),
  };
}
