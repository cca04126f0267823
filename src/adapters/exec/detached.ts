import { spawn } from "node:child_process";
import { CommandFailed } from "./command.ts";

export interface DetachedOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly output: number;
}

export type StartDetached = (
  argv: readonly [program: string, ...args: string[]],
  options: DetachedOptions,
) => Promise<void>;

/** In a session of its own. @throws CommandFailed when the program cannot be started. */
export const startDetached: StartDetached = ([program, ...args], { environment, output }) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: environment,
      cwd: "/",
      stdio: ["ignore", output, output],
      detached: true,
    });
    child.on("error", (error) => {
      reject(new CommandFailed(`cannot run ${program}: ${error.message}`, { cause: error }));
    });
    child.on("spawn", () => {
      child.unref();
      resolve();
    });
  });
