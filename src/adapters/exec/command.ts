import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";

export interface CommandOutput {
  readonly stdout: string;
  readonly stderr: string;
}

const noOutput: CommandOutput = { stdout: "", stderr: "" };

export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  readonly output: CommandOutput;

  constructor(
    message: string,
    { output = noOutput, ...options }: ErrorOptions & { readonly output?: CommandOutput } = {},
  ) {
    super(message, options);
    this.output = output;
  }
}

/** The whole environment of every command: nothing of the caller's leaks in. */
export const environment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", HOME: "/nonexistent" };

/** How long a process that was killed may take to end. */
const endMs = 2_000;

/**
 * Kills a child and its process group. A process that has left the group may hold the outputs open: they are closed here.
 * @param onLeft called where it does not end: one that waits in the kernel for a file system cannot be killed, and is left behind.
 */
export function killGroup(child: ChildProcess, onLeft: () => void): void {
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  const late = setTimeout(() => {
    child.unref();
    onLeft();
  }, endMs);
  child.once("close", () => clearTimeout(late));
  const { pid } = child;
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Whether this process may start systemd units: systemd runs, and others than root would be asked for a password. */
export const canStartUnits = (): boolean => existsSync("/run/systemd/system") && process.getuid?.() === 0;

/** A word as an argument of a unit, where a dollar would begin a variable (systemd.service(5)). */
export const escapeArgument = (word: string): string => word.replaceAll("$", () => "$$");
