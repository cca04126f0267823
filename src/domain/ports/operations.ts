import type { OperationError, OperationStatus } from "#contract/operation-entry.ts";

export interface OperationSpec {
  readonly id: string;
  readonly kind: string;
  readonly input: unknown;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Null without a key. */
  readonly keyId: string | null;
  readonly idempotencyKey: string | null;
  /** What the caller has agreed to, in the words of the plan of this kind; absent where there was no plan. */
  readonly planned?: readonly string[];
  /** W3C Trace Context of the request, if it was traced. */
  readonly traceparent?: string;
}

/** The progress, written only by the holder of the newest claim. */
export interface OperationState {
  readonly status: OperationStatus;
  /** 0 to 100. */
  readonly percent: number;
  readonly step: string;
  /** When the step is over unless something comes up; null where nobody can say, absent in records of earlier versions. */
  readonly stepEndsAt?: number | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** JSON of the verb: where to continue after an interruption; null when it has saved none. */
  readonly phase: unknown;
  readonly result: unknown;
  readonly error: OperationError | null;
  /**
   * Whether a request to cancel it is still heeded. `closing`: it is about to look for one for the last time. Absent: as `closed`,
   * as in records of earlier versions.
   */
  readonly cancel?: "open" | "closing" | "closed";
}

/** A process, distinct from all others with its number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since the boot. */
  readonly startTicks: number;
  readonly bootId: string;
}

/** The right to work on an operation and to write its state; numbered from 1. */
export interface Claim {
  readonly number: number;
  readonly process: ProcessIdentity;
}

export interface StoredOperation {
  readonly spec: OperationSpec;
  /** Undefined when its record is damaged. */
  readonly state: OperationState | undefined;
  /** The newest. */
  readonly claim: Claim | undefined;
}

/** Operations on disk, used by the service and a task at the same time. Each may be killed: what is read is always whole. */
export interface OperationStore {
  /** Records a new operation, whole or not at all. @throws Error when it cannot be written. */
  readonly create: (spec: OperationSpec) => void;
  /** Newest first. */
  readonly ids: () => readonly string[];
  /** Undefined without such an operation, or when its request is unreadable. */
  readonly read: (id: string) => StoredOperation | undefined;
  /** Takes the claim of this number, which only one process can. @returns whether it did. */
  readonly claim: (id: string, number: number, process: ProcessIdentity) => boolean;
  /** @throws Error when it cannot be written; the previous state remains. */
  readonly write: (id: string, state: OperationState) => void;
  /** Records that it is to be cancelled. @throws Error when it cannot be written. */
  readonly requestCancel: (id: string) => void;
  readonly withdrawCancel: (id: string) => void;
  readonly isCancelRequested: (id: string) => boolean;
  /** Adds a line to its log; the oldest ones are dropped. */
  readonly appendLog: (id: string, line: string) => void;
  /** Oldest first. */
  readonly tail: (id: string, lines: number) => readonly string[];
  readonly remove: (id: string) => void;
}

export interface TaskLauncher {
  /** Starts `steward task run <id>` independently of this process. @throws Error when it cannot be started. */
  readonly launch: (id: string) => Promise<void>;
  readonly isAlive: (process: ProcessIdentity) => boolean;
}
