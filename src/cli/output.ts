/** Where a command writes; tests pass their own. */
export interface Io {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Exit codes of every command. */
export const exitCode = { fine: 0, foundTrouble: 1, couldNotRun: 2 } as const;

/** Writes an answer as it came, for programs. */
export const printJson = (io: Io, value: unknown): void => io.out(`${JSON.stringify(value, null, 2)}\n`);

/** Text on one line, without what a terminal would act upon. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ").trim();
