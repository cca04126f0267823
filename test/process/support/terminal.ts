import { fileURLToPath } from "node:url";
import { runProgram } from "./program.ts";
import { baseEnvironment } from "./service.ts";
import type { Workspace } from "./workspace.ts";

/** What is typed once something has been printed; the window may change its width then. */
export interface Step {
  readonly wait: string;
  readonly send?: string;
  readonly columns?: number;
}

/** What a program printed on a terminal, and its exit code as a shell counts it. */
export interface TerminalRun {
  readonly output: string;
  readonly code: number;
  /** What was waited for in vain. */
  readonly left: readonly string[];
}

const driver = fileURLToPath(new URL("in-pty.py", import.meta.url));
/** Ends what hangs; far more than any run takes on a busy machine. */
const hangS = 180;

/** Runs a program in a pseudo-terminal. */
export async function runInTerminal(
  workspace: Workspace,
  argv: readonly string[],
  options: {
    readonly environment?: Readonly<Record<string, string>>;
    readonly columns?: number;
    readonly steps?: readonly Step[];
  } = {},
): Promise<TerminalRun> {
  const { environment = {}, columns = 80, steps = [] } = options;
  const env = { ...baseEnvironment(workspace), TERM: "xterm-256color", ...environment };
  const task = JSON.stringify({ argv, env, columns, steps, timeout_s: hangS });
  const { code, stdout, stderr } = await runProgram(workspace, ["/usr/bin/env", "python3", driver, task], {
    timeoutMs: (hangS + 20) * 1000,
  });
  if (code !== 0) throw new Error(`cannot drive a terminal: ${stderr}`);
  return JSON.parse(stdout) as TerminalRun;
}
