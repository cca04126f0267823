/** What the service knows of a kind of operation; how it is done is the verb's, which the task has. */
export interface OperationKind {
  /** Operations with the same lock never run at the same time. */
  readonly lock: string;
  /**
   * Whether the verb can go on from the phase that it saved last. One that cannot is never begun twice: when its process is
   * gone, it has failed.
   */
  readonly canGoOn: boolean;
}

export type OperationKinds = Readonly<Record<string, OperationKind>>;

/** A kind that only an earlier version knew is safe to wait for, and not to do again. */
export const kindOf = (kinds: OperationKinds, kind: string): OperationKind =>
  Object.hasOwn(kinds, kind) ? (kinds[kind] ?? { lock: kind, canGoOn: false }) : { lock: kind, canGoOn: false };

/** How often an operation is begun: the first time and after interruptions. */
export const maxAttempts = 3;
