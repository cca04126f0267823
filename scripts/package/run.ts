import { spawnSync } from "node:child_process";

/**
 * Runs a command to its end.
 * @returns what it printed.
 * @throws Error when it cannot be started or exits with anything but 0.
 */
export function run(
  argv: readonly [string, ...string[]],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const [program, ...args] = argv;
  const { error, status, stdout, stderr } = spawnSync(program, args, {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (error !== undefined) throw new Error(`cannot run ${program}: ${error.message}`, { cause: error });
  if (status !== 0) throw new Error(`cannot run ${argv.join(" ")}: exit code ${status}\n${stderr.trim()}`);
  return stdout;
}

/** Names on standard error what is being done: a package takes minutes, and standard output is its path. */
export const say = (step: string): void => void process.stderr.write(`${step}\n`);
