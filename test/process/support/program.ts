import { execFile } from "node:child_process";
import { baseEnvironment, mainFile } from "./service.ts";
import type { Workspace } from "./workspace.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Ends what hangs, before the limit of the test does. */
const usualTimeoutMs = 50_000;

/** Runs a program to its end. */
export function runProgram(
  workspace: Workspace,
  [file, ...argv]: readonly [string, ...string[]],
  options: { environment?: Readonly<Record<string, string>>; input?: string; timeoutMs?: number } = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      file,
      argv,
      {
        cwd: workspace.path(),
        timeout: options.timeoutMs ?? usualTimeoutMs,
        maxBuffer: 16 * 1024 * 1024,
        env: { ...baseEnvironment(workspace), ...options.environment },
      },
      (error, stdout, stderr) => {
        if (error === null) resolve({ code: 0, stdout, stderr });
        else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr });
        else reject(error);
      },
    );
    workspace.adopt(child);
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(options.input ?? "");
  });
}

/** Runs a command of the command line. */
export const runSteward = (
  workspace: Workspace,
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ran> => runProgram(workspace, [process.execPath, mainFile, ...argv], { environment });
