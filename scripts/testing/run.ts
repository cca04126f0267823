import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { type FileResult, readResults, resultsFile } from "./results.ts";

export type Argv = readonly [string, ...string[]];

/** What a run of vitest came to. */
export interface VitestRun {
  /** The exit status. */
  readonly code: number;
  readonly files: readonly FileResult[];
}

/** Nothing is sent anywhere about a run. */
const silent = {
  REDOCLY_TELEMETRY: "off",
  REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
  NO_UPDATE_NOTIFIER: "1",
  DO_NOT_TRACK: "1",
};

/** A signal that ends a run, with the exit status that shells give it. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly status: number;

  constructor(signal: NodeJS.Signals) {
    super(`ended by ${signal}`);
    this.status = 128 + constants.signals[signal];
  }
}

/**
 * Runs a command with the output of this process. A signal that would end this process ends the command first: anyone who cancels a
 * run in CI signals the parent alone.
 * @returns its exit status; 1 where a signal of its own ended it.
 * @throws Interrupted
 */
export function run([program, ...args]: Argv, environment: Readonly<Record<string, string>> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "inherit", env: { ...process.env, ...silent, ...environment } });
    let received: NodeJS.Signals | undefined;
    const forward = (signal: NodeJS.Signals): void => {
      received = signal;
      child.kill(signal);
    };
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    for (const signal of signals) process.on(signal, forward);
    const stop = (): void => {
      for (const signal of signals) process.off(signal, forward);
    };
    child.on("error", (error) => {
      stop();
      reject(error);
    });
    child.on("close", (code) => {
      stop();
      if (received === undefined) resolve(code ?? 1);
      else reject(new Interrupted(received));
    });
  });
}

const reporters = ["default", "./scripts/testing/results.ts", "./scripts/testing/hung-tests.ts"].flatMap((each) => [
  "--reporter",
  each,
]);

/** Runs vitest with the arguments given. */
export async function runVitest(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<VitestRun> {
  const directory = mkdtempSync(join(tmpdir(), "steward-test-results-"));
  const results = join(directory, "results");
  writeFileSync(results, "");
  try {
    const code = await run(["vitest", "run", ...reporters, ...args], { ...environment, [resultsFile]: results });
    return { code, files: readResults(results) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
