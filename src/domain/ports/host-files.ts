/** What the kernel shows in `/proc` and `/sys`. Nothing is written. Each throws what the system says where it refuses. */
export interface HostFiles {
  readonly text: (path: string) => Promise<string>;
  /** Names of what is in a directory, sorted. */
  readonly names: (path: string) => Promise<readonly string[]>;
  /** What a link leads to, as it is written there. */
  readonly target: (path: string) => Promise<string>;
}

/**
 * Runs a program of the host to its end.
 * @throws where it does not end by itself; where it is not installed, with the system's refusal as the cause.
 */
export type RunProgram = (
  argv: readonly [program: string, ...args: string[]],
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
) => Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }>;
