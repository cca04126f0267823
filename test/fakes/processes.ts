import type { ProcessSignal } from "#contract/processes.ts";
import {
  type DeletedFiles,
  type Process,
  type Processes,
  ProcessGone,
  type ProcessIo,
  type SampledProcess,
  SignalForbidden,
} from "#domain/ports/processes.ts";

export interface FakeProcess extends Process, SampledProcess {
  readonly command?: string;
  /** Undefined where the kernel does not show it. */
  readonly io?: ProcessIo;
  /** What root sees of it. */
  readonly ioForRoot?: ProcessIo;
  /** Undefined where nobody may look. */
  readonly deletedFiles?: DeletedFiles;
  /** What it does when it gets a signal; ends unless said. */
  readonly onSignal?: "ends" | "continues" | "is forbidden";
}

export interface FakeProcesses extends Processes {
  /** Whether the kernel hides processes of others. */
  hidesOthers: boolean;
  readonly sent: readonly (readonly [pid: number, signal: ProcessSignal])[];
  /** Adds a process, or puts another one in its place. */
  readonly put: (process: FakeProcess) => void;
  readonly end: (pid: number) => void;
}

const startedAt = Date.parse("2026-01-01T00:00:00Z");

/** A process that sleeps. */
export const fakeProcess = (pid: number, changes: Partial<FakeProcess> = {}): FakeProcess => ({
  pid,
  startTicks: pid * 100,
  parentPid: 1,
  name: `program-${pid}`,
  user: "root",
  uid: 0,
  unit: null,
  startedAt: startedAt + pid * 1000,
  state: "sleeping",
  threads: 1,
  memoryBytes: 1024 * 1024,
  isKernelThread: false,
  cpuPercent: 0,
  ...changes,
});

/** Processes in memory. */
export function createFakeProcesses(given: readonly FakeProcess[] = []): FakeProcesses {
  const all = new Map(given.map((process) => [process.pid, process]));
  const sent: (readonly [number, ProcessSignal])[] = [];
  const end = (pid: number): void => void all.delete(pid);
  const ofEach = <T>(processes: readonly { pid: number }[], read: (process: FakeProcess) => T | undefined) =>
    Promise.resolve(
      new Map(
        processes.flatMap(({ pid }) => {
          const process = all.get(pid);
          const value = process && read(process);
          return value === undefined ? [] : [[pid, value] as const];
        }),
      ),
    );
  const fake: FakeProcesses = {
    units: (processes) => ofEach(processes, ({ unit }) => unit),
    users: (processes) => ofEach(processes, ({ user, uid }) => ({ user, uid })),
    hidesOthers: false,
    sent,
    put: (process) => void all.set(process.pid, process),
    end,
    sample: () =>
      Promise.resolve({
        processes: [...all.values()],
        takenAt: startedAt + 3_600_000,
        spanMs: 2_000,
        hidesOthers: fake.hidesOthers,
      }),
    read: (pid) => Promise.resolve(all.get(pid)),
    io: (processes) => ofEach(processes, ({ io }) => io),
    ioOfAll: (processes) => ofEach(processes, ({ io, ioForRoot = io }) => ioForRoot),
    deletedFiles: (processes) => ofEach(processes, ({ deletedFiles }) => deletedFiles),
    commands: (processes) =>
      ofEach(processes, ({ command, name, isKernelThread }) => (isKernelThread ? "" : (command ?? `/usr/bin/${name}`))),
    async signal({ pid, startTicks }, signal) {
      await Promise.resolve();
      const process = all.get(pid);
      if (process?.startTicks !== startTicks) throw new ProcessGone(`process ${pid} has ended`);
      if (process.onSignal === "is forbidden") throw new SignalForbidden("the kernel does not let this user send it");
      sent.push([pid, signal]);
      if ((process.onSignal ?? "ends") === "ends" && signal !== "STOP" && signal !== "CONT") end(pid);
    },
  };
  return fake;
}
