import { expect } from "vitest";
import { CommandFailed } from "#adapters/exec/command.ts";
import { type CommandResult, type Exec, exec } from "#adapters/exec/index.ts";

/** Programs that all answer this; those of a real host are asked in test/host. */
export const printing =
  (stdout: string, rest: Partial<CommandResult> = {}): Exec =>
  () =>
    Promise.resolve({ exitCode: 0, stdout, stderr: "", truncated: false, ...rest });

/** Programs none of which is installed. */
export const notInstalled: Exec = () =>
  Promise.reject(new CommandFailed("x", { cause: Object.assign(new Error("x"), { code: "ENOENT" }) }));

/** The address of a source of the program, for an import in a program that is text. */
export const sourceOf = (path: string): string => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);

/** Runs a program that kills itself in the end. */
export async function runUntilKilled(program: string, ...operands: readonly string[]): Promise<void> {
  const argv = [process.execPath, "--input-type=module", "-e", program, ...operands] as const;
  // It only ends a program that hangs.
  await expect(exec(argv, { timeoutMs: 60_000 })).rejects.toThrow("killed by SIGKILL");
}
