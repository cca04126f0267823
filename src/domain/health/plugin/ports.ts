/** What a plugin left, or why it left nothing. */
export type PluginRun =
  | {
      readonly isEnded: true;
      readonly exitCode: number;
      /** Decoded as UTF-8; what is not UTF-8 is U+FFFD. */
      readonly stdout: string;
      readonly stderr: string;
      /** Whether `stdout` is only the beginning of what was printed. */
      readonly isCut: boolean;
    }
  | {
      readonly isEnded: false;
      /** After the path of the program it makes a sentence: `does not exist`, `was killed by SIGSEGV`. */
      readonly reason: string;
      /** The end of what it had written by then; undefined where that is nothing, or not known. */
      readonly output?: { readonly stdout: string; readonly stderr: string };
    };

/** Starts monitoring plugins. */
export interface PluginRunner {
  /**
   * Runs a program with its arguments, an environment that is the same everywhere and no input. When the signal fires, it
   * is killed with all that it started.
   */
  readonly run: (command: readonly [program: string, ...args: string[]], signal: AbortSignal) => Promise<PluginRun>;
}
