import { readdirSync, readFileSync, statSync } from "node:fs";
import { endianness } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ProcessSignal } from "#contract/processes.ts";
import {
  type Process,
  type Processes,
  ProcessGone,
  type ProcessId,
  type ProcessOwners,
  type ProcessSample,
  SignalForbidden,
} from "#domain/ports/processes.ts";
import type { Clock } from "#kernel/clock.ts";
import { errnoCode, isProcessGone, isProcessOutOfReach, orElse, orUndefinedSync } from "#kernel/errors.ts";
import { createCommandReader } from "./process-commands.ts";
import {
  type ProcessStat,
  parseAuxiliary,
  parseIo,
  parseProcessStat,
  parseUnit,
  processState,
} from "./process-stat.ts";
import { createUserNames, type UserNames } from "./user-names.ts";

/** Processes looked at between two turns of the event loop: about a millisecond. */
const batchSize = 32;
/** A sample is taken anew after this time. */
const freshMs = 1_000;
/** Between two samples where there is none to compare with. */
const firstSpanMs = 500;
/** Older ones are not compared with: what a process did then is not what it does now. */
const oldestMs = 60_000;

/** Directories of processes are never of others than their effective users, whatever else of them is hidden. */
interface Look extends Omit<ProcessStat, "state"> {
  readonly state: Process["state"];
  readonly uid: number;
  readonly unit: string | null;
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
  const dir = `${procDir}/${pid}`;
  return orUndefinedSync(() => {
    const stat = parseProcessStat(readFileSync(`${dir}/stat`, "utf8"));
    if (stat === undefined) return undefined;
    const unit = stat.isKernelThread ? null : parseUnit(readFileSync(`${dir}/cgroup`, "utf8"));
    return { ...stat, state: processState(stat.state), uid: statSync(dir).uid, unit };
  }, isProcessOutOfReach);
}

async function takeSample(procDir: string, clock: Pick<Clock, "now" | "monotonicMs">): Promise<Taken> {
  const looks: Look[] = [];
  const atMs = clock.monotonicMs();
  const takenAt = clock.now();
  let count = 0;
  for (const name of readdirSync(procDir)) {
    if (!isPid(name)) continue;
    count += 1;
    if (count % batchSize === 0) await nextTurn();
    const found = look(procDir, name);
    if (found !== undefined) looks.push(found);
  }
  return { atMs, takenAt, looks };
}

/** All processes of others than root by the numbers of their users, as this process sees them. */
export async function readOwners(procDir = "/proc"): Promise<ReadonlyMap<number, readonly ProcessId[]>> {
  const owners = new Map<number, ProcessId[]>();
  let count = 0;
  for (const name of readdirSync(procDir)) {
    if (!isPid(name)) continue;
    count += 1;
    if (count % batchSize === 0) await nextTurn();
    const found = look(procDir, name);
    if (found === undefined || found.uid === 0) continue;
    const { pid, startTicks, uid } = found;
    const list = owners.get(uid) ?? [];
    list.push({ pid, startTicks });
    owners.set(uid, list);
  }
  return owners;
}

/** Since when the host is up: epoch seconds, which a clock that is set moves. */
const bootSeconds = (procDir: string): number =>
  Number(/^btime (\d+)$/m.exec(readFileSync(join(procDir, "stat"), "utf8"))?.[1] ?? 0);

/** Where others are hidden, process 1 is the first of them: it is root's. */
const hidesOthers = (procDir: string): boolean =>
  orElse(() => {
    readFileSync(join(procDir, "1/stat"));
    return false;
  }, true);

export function createProcesses(ports: {
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  readonly procDir?: string;
  readonly passwd?: string;
  /** Who knows the users that this process cannot see. */
  readonly owners?: ProcessOwners | undefined;
}): Processes {
  const { clock, procDir = "/proc", owners } = ports;
  const { pageBytes, ticksPerSecond } = parseAuxiliary(readFileSync("/proc/self/auxv"), endianness() === "LE");
  const users = createUserNames({ procDir, passwd: ports.passwd ?? "/etc/passwd" });
  const commands = createCommandReader({ procDir, clock });
  let current: Taken | undefined;
  let answer: ProcessSample | undefined;
  let pending: Promise<ProcessSample> | undefined;

  const toProcess = (found: Look, boot: number, uid: number | null): Process => ({
    pid: found.pid,
    startTicks: found.startTicks,
    parentPid: found.parentPid,
    name: found.name,
    user: users.name(uid),
    uid,
    unit: found.unit,
    startedAt: boot * 1000 + Math.round((found.startTicks * 1000) / ticksPerSecond),
    state: found.state,
    threads: found.threads,
    memoryBytes: found.residentPages * pageBytes,
    isKernelThread: found.isKernelThread,
  });

  const compare = async (before: Taken, after: Taken): Promise<ProcessSample> => {
    const earlier = new Map(before.looks.map(({ pid, startTicks, cpuTicks }) => [pid, { startTicks, cpuTicks }]));
    const spanMs = after.atMs - before.atMs;
    const perTick = 100_000 / ticksPerSecond / Math.max(1, spanMs);
    const boot = bootSeconds(procDir);
    const uids = await uidsOf(after.looks, users, owners);
    const processes = after.looks.map((found) => {
      const known = earlier.get(found.pid);
      const from = known?.startTicks === found.startTicks ? known.cpuTicks : 0;
      const cpuPercent = Math.max(0, found.cpuTicks - from) * perTick;
      return { ...toProcess(found, boot, uids(found)), cpuPercent };
    });
    return { processes, takenAt: after.takenAt, spanMs, hidesOthers: hidesOthers(procDir) };
  };

  const takeAnew = async (): Promise<ProcessSample> => {
    const isOld = current === undefined || clock.monotonicMs() - current.atMs > oldestMs;
    if (isOld) {
      current = await takeSample(procDir, clock);
      await clock.sleep(firstSpanMs);
    }
    const before = current ?? { atMs: 0, takenAt: 0, looks: [] };
    const after = await takeSample(procDir, clock);
    answer = await compare(before, after);
    current = after;
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
      const uids = await uidsOf([found], users, owners);
      return toProcess(found, bootSeconds(procDir), uids(found));
    },
    io: async (processes) => readIo(procDir, processes),
    commands: (processes) => commands.read(processes),
    signal: (id, signal) =>
      new Promise((resolve) => {
        sendSignal(procDir, id, signal);
        resolve();
      }),
  };
}

/** Users by process, of which others know those that are hidden from this one. */
async function uidsOf(looks: readonly Look[], users: UserNames, owners: ProcessOwners | undefined) {
  const hidden = looks.filter(({ uid }) => users.isHidden(uid));
  const known = hidden.length > 0 && owners !== undefined ? await owners(hidden) : undefined;
  return ({ pid, uid }: Look): number | null => (users.isHidden(uid) ? (known?.get(pid) ?? null) : uid);
}

/** For others than root the kernel shows the figures of processes of the same user alone (ptrace(2)). */
async function readIo(procDir: string, processes: readonly Process[]): ReturnType<Processes["io"]> {
  const own = process.geteuid?.() ?? 0;
  const found = new Map<number, { readBytes: number; writtenBytes: number }>();
  for (const [at, { pid, uid }] of processes.entries()) {
    if (at % batchSize === batchSize - 1) await nextTurn();
    if (own !== 0 && uid !== own) continue;
    const text = orUndefinedSync(() => readFileSync(`${procDir}/${pid}/io`, "latin1"), isProcessOutOfReach);
    const io = text === undefined ? undefined : parseIo(text);
    if (io !== undefined) found.set(pid, io);
  }
  return found;
}

/**
 * Node has no pidfd_send_signal(2), so the start is compared right before, without a turn of the event loop in between. A number is
 * given anew only after all others have been, so in these microseconds it is not.
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
