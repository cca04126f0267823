import { readdirSync, readFileSync, statSync } from "node:fs";
import { endianness } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ifInReach, unitOfProcess } from "#adapters/exec/proc.ts";
import type { ProcessSignal } from "#contract/processes.ts";
import {
  type DeletedFiles,
  type Process,
  type Processes,
  ProcessGone,
  type ProcessId,
  type ProcessIo,
  type ProcessOwners,
  type ProcessSample,
  type ProcessUser,
  type SampledProcess,
  SignalForbidden,
} from "#domain/ports/processes.ts";
import type { Clock } from "#kernel/clock.ts";
import { errnoCode, isProcessGone } from "#kernel/errors.ts";
import { readDeletedFiles } from "./deleted-files.ts";
import { createCommandReader } from "./process-commands.ts";
import { type ProcessStat, parseAuxiliary, parseIo, parseProcessStat, processState } from "./process-stat.ts";
import { createUserNames, type UserNames } from "./user-names.ts";

/** Processes inspected between two turns of the event loop: about a millisecond. */
const batchSize = 32;
/** A sample is taken again after this time. */
const freshMs = 1_000;
/** Between the two samples that are taken where no earlier one can be compared with. */
const firstSpanMs = 500;
/** Older ones are not compared with: what a process did then is not what it does now. */
const oldestMs = 60_000;

interface Look extends Omit<ProcessStat, "state"> {
  readonly state: Process["state"];
}

interface Taken {
  readonly atMs: number;
  readonly takenAt: number;
  readonly looks: readonly Look[];
}

const isPid = (name: string): boolean => {
  const first = name.charCodeAt(0);
  return first >= 0x31 && first <= 0x39;
};

function look(procDir: string, pid: string): Look | undefined {
  const stat = ifInReach(() => parseProcessStat(readFileSync(`${procDir}/${pid}/stat`, "utf8")));
  return stat && { ...stat, state: processState(stat.state) };
}

/** Directories of processes are never of others than their effective users, whatever else of them is hidden. */
const readUid = (procDir: string, { pid }: Pick<Process, "pid">): number | undefined =>
  ifInReach(() => statSync(`${procDir}/${pid}`).uid);

const readUnit = (
  procDir: string,
  { pid, isKernelThread }: Pick<Process, "pid" | "isKernelThread">,
): string | null | undefined =>
  isKernelThread ? null : ifInReach(() => unitOfProcess(readFileSync(`${procDir}/${pid}/cgroup`, "utf8")));

async function takeLooks(procDir: string): Promise<readonly Look[]> {
  const looks: Look[] = [];
  let count = 0;
  for (const name of readdirSync(procDir)) {
    if (!isPid(name)) continue;
    count += 1;
    if (count % batchSize === 0) await nextTurn();
    const found = look(procDir, name);
    if (found !== undefined) looks.push(found);
  }
  return looks;
}

async function takeSample(procDir: string, clock: Pick<Clock, "now" | "monotonicMs">): Promise<Taken> {
  const atMs = clock.monotonicMs();
  const takenAt = clock.now();
  return { atMs, takenAt, looks: await takeLooks(procDir) };
}

/** What is read of each of these, once for all who ask; left out where it has ended. */
function createFacts<P extends { readonly pid: number }, T>(read: (process: P) => T | undefined) {
  let known = new Map<number, T>();
  return {
    forget(): void {
      known = new Map();
    },
    async of(processes: readonly P[]): Promise<ReadonlyMap<number, T>> {
      const shared = known;
      const found = new Map<number, T>();
      for (const [at, process] of processes.entries()) {
        if (at % batchSize === batchSize - 1) await nextTurn();
        const fact = shared.get(process.pid) ?? read(process);
        if (fact === undefined) continue;
        shared.set(process.pid, fact);
        found.set(process.pid, fact);
      }
      return found;
    },
  };
}

/** All processes of others than root by the numbers of their users, as this process sees them. */
export async function readOwners(procDir = "/proc"): Promise<ReadonlyMap<number, readonly ProcessId[]>> {
  const owners = new Map<number, ProcessId[]>();
  for (const found of await takeLooks(procDir)) {
    const uid = readUid(procDir, found);
    if (uid === undefined || uid === 0) continue;
    const { pid, startTicks } = found;
    const list = owners.get(uid) ?? [];
    list.push({ pid, startTicks });
    owners.set(uid, list);
  }
  return owners;
}

/** Input and output of all processes, as this process sees them. */
export async function readAllIo(procDir = "/proc"): Promise<ReadonlyMap<ProcessId, ProcessIo>> {
  const looks = (await takeLooks(procDir)).filter(({ isKernelThread }) => !isKernelThread);
  const found = await readIo(procDir, looks);
  return new Map(
    looks.flatMap(({ pid, startTicks }) => {
      const io = found.get(pid);
      return io === undefined ? [] : [[{ pid, startTicks }, io] as const];
    }),
  );
}

/** Deleted files that processes have open, as this process sees them; of those that have any. */
export async function readAllDeletedFiles(procDir = "/proc"): Promise<ReadonlyMap<ProcessId, DeletedFiles>> {
  const looks = await takeLooks(procDir);
  const found = await readDeletedFiles(procDir, looks);
  return new Map(
    looks.flatMap(({ pid, startTicks }) => {
      const files = found.get(pid);
      return files === undefined || files.count === 0 ? [] : [[{ pid, startTicks }, files] as const];
    }),
  );
}

/** Since when the host is up: epoch seconds, which a clock that is set moves. */
const bootSeconds = (procDir: string): number =>
  Number(/^btime (\d+)$/m.exec(readFileSync(join(procDir, "stat"), "utf8"))?.[1] ?? 0);

/** Where others are hidden, process 1 is the first of them: it is root's. */
const hidesOthers = (looks: readonly Look[]): boolean => !looks.some(({ pid }) => pid === 1);

export function createProcesses(ports: {
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  readonly procDir?: string;
  readonly passwd?: string;
  /** Who knows the users that this process cannot see. */
  readonly owners?: ProcessOwners | undefined;
}): Processes {
  const { clock, procDir = "/proc", owners } = ports;
  const { pageBytes, ticksPerSecond } = parseAuxiliary(readFileSync("/proc/self/auxv"), endianness() === "LE");
  const names = createUserNames({ procDir, passwd: ports.passwd ?? "/etc/passwd" });
  const units = createFacts((process: SampledProcess) => {
    const unit = readUnit(procDir, process);
    return unit === undefined ? undefined : { unit };
  });
  const uids = createFacts((process: SampledProcess) => readUid(procDir, process));
  const commands = createCommandReader({ procDir, clock });
  let current: Taken | undefined;
  let answer: ProcessSample | undefined;
  let pending: Promise<ProcessSample> | undefined;

  const toProcess = (found: Look, boot: number) => ({
    pid: found.pid,
    startTicks: found.startTicks,
    parentPid: found.parentPid,
    name: found.name,
    startedAt: boot * 1000 + Math.round((found.startTicks * 1000) / ticksPerSecond),
    state: found.state,
    threads: found.threads,
    memoryBytes: found.residentPages * pageBytes,
    isKernelThread: found.isKernelThread,
  });

  const compare = (before: Taken, after: Taken): ProcessSample => {
    const earlier = new Map(before.looks.map(({ pid, startTicks, cpuTicks }) => [pid, { startTicks, cpuTicks }]));
    const spanMs = after.atMs - before.atMs;
    const perTick = 100_000 / ticksPerSecond / Math.max(1, spanMs);
    const boot = bootSeconds(procDir);
    const processes = after.looks.map((found) => {
      const known = earlier.get(found.pid);
      const from = known?.startTicks === found.startTicks ? known.cpuTicks : 0;
      const cpuPercent = Math.max(0, found.cpuTicks - from) * perTick;
      return { ...toProcess(found, boot), cpuPercent };
    });
    return { processes, takenAt: after.takenAt, spanMs, hidesOthers: hidesOthers(after.looks) };
  };

  const takeAnew = async (): Promise<ProcessSample> => {
    const isOld = current === undefined || clock.monotonicMs() - current.atMs > oldestMs;
    if (isOld) {
      current = await takeSample(procDir, clock);
      await clock.sleep(firstSpanMs);
    }
    const before = current ?? { atMs: 0, takenAt: 0, looks: [] };
    const after = await takeSample(procDir, clock);
    answer = compare(before, after);
    current = after;
    units.forget();
    uids.forget();
    return answer;
  };

  return {
    sample() {
      if (answer !== undefined && current !== undefined && clock.monotonicMs() - current.atMs < freshMs)
        return Promise.resolve(answer);
      pending ??= takeAnew().finally(() => {
        pending = undefined;
      });
      return pending;
    },
    async read(pid) {
      const found = look(procDir, String(pid));
      if (found === undefined) return undefined;
      const [uid, unit] = [readUid(procDir, found), readUnit(procDir, found)];
      if (uid === undefined || unit === undefined) return undefined;
      const user = (await usersOf([found], new Map([[pid, uid]]), names, owners)).get(pid);
      return user && { ...toProcess(found, bootSeconds(procDir)), unit, ...user };
    },
    async units(processes) {
      const found = await units.of(processes);
      return new Map([...found].map(([pid, { unit }]) => [pid, unit]));
    },
    users: async (processes) => usersOf(processes, await uids.of(processes), names, owners),
    io: (processes) => ownIo(procDir, processes, { uids, names }),
    ioOfAll: (processes) => ownIo(procDir, processes, { uids, names }),
    deletedFiles: (processes) => readDeletedFiles(procDir, processes),
    commands: (processes) => commands.read(processes),
    signal: (id, signal) =>
      new Promise((resolve) => {
        sendSignal(procDir, id, signal);
        resolve();
      }),
  };
}

/** Users of these, of which others know those that are hidden from this one. */
async function usersOf(
  processes: readonly ProcessId[],
  uids: ReadonlyMap<number, number>,
  names: UserNames,
  owners: ProcessOwners | undefined,
): Promise<ReadonlyMap<number, ProcessUser>> {
  const hidden = processes.filter(({ pid }) => names.isHidden(uids.get(pid)));
  const known = hidden.length > 0 && owners !== undefined ? await owners(hidden) : undefined;
  const name = names.naming();
  return new Map(
    [...uids].map(([pid, seen]) => {
      const uid = names.isHidden(seen) ? (known?.get(pid) ?? null) : seen;
      return [pid, { uid, user: name(uid) }];
    }),
  );
}

/** For others than root the kernel shows the figures of processes of the same user alone (ptrace(2)). */
async function ownIo(
  procDir: string,
  processes: readonly SampledProcess[],
  { uids, names }: { readonly uids: ReturnType<typeof createFacts<SampledProcess, number>>; readonly names: UserNames },
): ReturnType<Processes["io"]> {
  const own = process.geteuid?.() ?? 0;
  if (own === 0) return readIo(procDir, processes);
  const found = await uids.of(processes);
  return readIo(
    procDir,
    processes.filter(({ pid }) => found.get(pid) === own && !names.isHidden(own)),
  );
}

async function readIo(procDir: string, processes: readonly Pick<Process, "pid">[]): ReturnType<Processes["io"]> {
  const found = new Map<number, ProcessIo>();
  for (const [at, { pid }] of processes.entries()) {
    if (at % batchSize === batchSize - 1) await nextTurn();
    const text = ifInReach(() => readFileSync(`${procDir}/${pid}/io`, "utf8"));
    const io = text === undefined ? undefined : parseIo(text);
    if (io !== undefined) found.set(pid, io);
  }
  return found;
}

/**
 * Node has no pidfd_send_signal(2), so the start is compared right before, without a turn of the event loop in between. A number is
 * given again only after all others have been, so in these microseconds it is not.
 * @throws ProcessGone, SignalForbidden.
 */
function sendSignal(procDir: string, { pid, startTicks }: ProcessId, signal: ProcessSignal): void {
  const gone = new ProcessGone(`process ${pid} has ended`);
  try {
    const stat = parseProcessStat(readFileSync(`${procDir}/${pid}/stat`, "utf8"));
    if (stat?.startTicks !== startTicks) throw gone;
    process.kill(pid, `SIG${signal}`);
  } catch (error) {
    if (isProcessGone(error)) throw gone;
    if (errnoCode(error) === "EPERM") throw new SignalForbidden("the kernel does not let this user send it");
    throw error;
  }
}
