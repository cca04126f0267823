import { isNotFound } from "#kernel/errors.ts";

/**
 * Files that the host shows: of the kernel in `/proc` and `/sys`, and of programs in `/run` and `/var/lib`. Nothing is written. Each throws
 * what the system says where it refuses.
 */
export interface HostFiles {
  readonly text: (path: string) => Promise<string>;
  /** Names of what is in a directory, sorted. */
  readonly names: (path: string) => Promise<readonly string[]>;
  /** What a link leads to, as it is written there. */
  readonly target: (path: string) => Promise<string>;
  /** Where a path leads through all links. */
  readonly real: (path: string) => Promise<string>;
  /** Of what a path leads to. */
  readonly stat: (path: string) => Promise<{ readonly size: number; readonly isSocket: boolean }>;
}

/**
 * Runs a program of the host to its end.
 * @throws where it does not end by itself; where it is not installed, with the system's refusal as the cause.
 */
export type RunProgram = (
  argv: readonly [program: string, ...args: string[]],
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
) => Promise<{
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether it said more than is kept. */
  readonly truncated?: boolean;
}>;

/** Whether a program was not run because it is not installed. */
export const isNotInstalled = (error: unknown): boolean => error instanceof Error && isNotFound(error.cause);

/**
 * One GET of JSON by HTTP on the Unix socket of a program of the host.
 * @returns undefined where the program has no such thing.
 * @throws where it does not answer in time, says too much or something else; what the system says where there is no connection.
 */
export type GetBySocket = (socketPath: string, path: string, signal: AbortSignal) => Promise<unknown>;
