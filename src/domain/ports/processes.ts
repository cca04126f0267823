import type { ProcessSignal, processStates } from "#contract/processes.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";

/** Which process is meant: a number is given again when its process has ended. */
export interface ProcessId {
  readonly pid: number;
  /** When it started, in clock ticks since boot. */
  readonly startTicks: number;
}

export interface Process extends ProcessId {
  /** 0 for none. */
  readonly parentPid: number;
  /** Cut by the kernel to 15 bytes. */
  readonly name: string;
  /** Effective user: its name, or its number without one; null where it is not known. */
  readonly user: string | null;
  /** Number of the user; null where it is not known. */
  readonly uid: number | null;
  /** Unit of the system's manager; null for none. */
  readonly unit: string | null;
  /** Epoch milliseconds, by the clock of now: a clock that is set moves it. */
  readonly startedAt: number;
  readonly state: (typeof processStates)[number];
  readonly threads: number;
  readonly memoryBytes: number;
  readonly isKernelThread: boolean;
}

/** What a sample has of a process; its user and unit are asked for apart, since each takes a read of its own. */
export interface SampledProcess extends Omit<Process, "user" | "uid" | "unit"> {
  /** Of one processor, between the two samples; since its start for one that started in between. */
  readonly cpuPercent: number;
}

export interface ProcessSample {
  readonly processes: readonly SampledProcess[];
  /** Epoch milliseconds of the newer sample. */
  readonly takenAt: number;
  /** Time between the two samples. */
  readonly spanMs: number;
  /** Whether the kernel hides processes of other users (`hidepid=`, proc(5)). */
  readonly hidesOthers: boolean;
}

export type ProcessUser = Pick<Process, "user" | "uid">;

export interface ProcessIo {
  readonly readBytes: number;
  readonly writtenBytes: number;
}

/** Deleted files that a process has open: what they take is free once it closes them. */
export interface DeletedFiles {
  readonly count: number;
  readonly bytes: number;
  /** Path that the largest had; null without any. */
  readonly largest: string | null;
}

/** The processes of the host. One that ends while it is inspected is left out. */
export interface Processes {
  /** The newest sample, at most a second old and the same for all callers, compared with the one before it. */
  readonly sample: () => Promise<ProcessSample>;
  /** As it is now; undefined without such a process. */
  readonly read: (pid: number) => Promise<Process | undefined>;
  /** Units of processes of the newest sample, by process id; without those that have ended since. The same for all callers. */
  readonly units: (processes: readonly SampledProcess[]) => Promise<ReadonlyMap<number, Process["unit"]>>;
  /** Users of processes of the newest sample, by process id; without those that have ended since. The same for all callers. */
  readonly users: (processes: readonly SampledProcess[]) => Promise<ReadonlyMap<number, ProcessUser>>;
  /** What the kernel lets this process see: that of its own user, or of everybody for root. */
  readonly io: (processes: readonly SampledProcess[]) => Promise<ReadonlyMap<number, ProcessIo>>;
  /** The same with that of others, a few seconds old, where root can be asked. Dear: it may start a process of root. */
  readonly ioOfAll: (processes: readonly SampledProcess[]) => Promise<ReadonlyMap<number, ProcessIo>>;
  /** With those of others, a few seconds old, where root can be asked. Dear: it may start a process of root. */
  readonly deletedFiles: (processes: readonly SampledProcess[]) => Promise<ReadonlyMap<number, DeletedFiles>>;
  /** Command lines by process id, their words with spaces between; cut at 32 KiB. Without those that cannot be read in time. */
  readonly commands: (
    processes: readonly Pick<Process, keyof ProcessId | "isKernelThread">[],
  ) => Promise<ReadonlyMap<number, string>>;
  /** @throws ProcessGone, SignalForbidden. */
  readonly signal: (id: ProcessId, signal: ProcessSignal) => Promise<void>;
}

/** Effective users of processes that this service cannot see itself, by process id; without those that nobody knows. */
export type ProcessOwners = (processes: readonly ProcessId[]) => Promise<ReadonlyMap<number, number>>;

/** There is no such process, or another one has its number. */
export class ProcessGone extends Error {
  override readonly name = "ProcessGone";
}

/** The kernel does not let this user send a signal to the process. */
export class SignalForbidden extends HostUnavailable {
  override readonly name = "SignalForbidden";

  constructor(message: string) {
    super(message, { missing: "rights", retryable: false });
  }
}
