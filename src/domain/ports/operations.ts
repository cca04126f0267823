import type { OperationError, OperationStatus } from "#contract/operation-entry.ts";

/** What was asked for. Written down before anything starts, and never changed. */
export interface OperationSpec {
  readonly id: string;
  readonly kind: string;
  /** JSON, as the verb of the kind takes it. */
  readonly input: unknown;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** The key that asked; null when nobody's key did. */
  readonly keyId: string | null;
  readonly idempotencyKey: string | null;
  /** The span of the request that asked (W3C Trace Context); absent where it was not traced. */
  readonly traceparent?: string;
}

/** How far it is. Written by the process that holds the newest claim, and by nobody else. */
export interface OperationState {
  readonly status: OperationStatus;
  /** 0 to 100. */
  readonly percent: number;
  readonly step: string;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** JSON of the verb's own: where it goes on after an interruption; null when it has saved none. */
  readonly phase: unknown;
  readonly result: unknown;
  readonly error: OperationError | null;
}

/** A process, told apart from every other one that has had or will have its number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in clock ticks since the boot. */
  readonly startTicks: number;
  readonly bootId: string;
}

/** The right to work on an operation and to write its state. The first has number 1. */
export interface Claim {
  readonly number: number;
  readonly process: ProcessIdentity;
}

export interface StoredOperation {
  readonly spec: OperationSpec;
  /** Undefined when its record is damaged. */
  readonly state: OperationState | undefined;
  /** The newest; undefined when nobody has begun. */
  readonly claim: Claim | undefined;
}

/**
 * Operations on disk. Two processes use it at the same time, the service and the task, and each may be killed at any moment:
 * what is read is always what was written last as a whole.
 */
export interface OperationStore {
  /** Writes down a new operation, queued, whole or not at all. @throws Error when it cannot be written. */
  readonly create: (spec: OperationSpec) => void;
  /** All ids, newest first. */
  readonly ids: () => readonly string[];
  /** Undefined when there is none of that id, or what was asked can no longer be read. */
  readonly read: (id: string) => StoredOperation | undefined;
  /** Takes the claim of this number. Of all that try, one gets it. @returns whether it was got. */
  readonly claim: (id: string, number: number, process: ProcessIdentity) => boolean;
  /** @throws Error when it cannot be written; the state before it then stands. */
  readonly write: (id: string, state: OperationState) => void;
  /** Adds a line to its log, which is bounded: the oldest lines go. */
  readonly appendLog: (id: string, line: string) => void;
  /** The last lines of its log, oldest first. */
  readonly tail: (id: string, lines: number) => readonly string[];
  readonly remove: (id: string) => void;
}

/** Starts tasks, and tells whether a process is still there. */
export interface TaskLauncher {
  /** Starts `steward task run <id>` where the end of this process does not end it. @throws Error when it cannot be started. */
  readonly launch: (id: string) => Promise<void>;
  readonly isAlive: (process: ProcessIdentity) => boolean;
}
