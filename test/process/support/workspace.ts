import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, TestRunner } from "vitest";

/** A directory of a test file's own, and the processes that were started in it. */
export interface Workspace {
  readonly path: (...parts: readonly string[]) => string;
  /** Sees to it that the process ends with the test that started it, else with the test file, whatever happens. */
  readonly adopt: (child: ChildProcess) => void;
  readonly dispose: () => Promise<void>;
}

const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

export function createWorkspace(): Workspace {
  const root = mkdtempSync(join(tmpdir(), "steward-test-"));
  const children = new Set<ChildProcess>();
  const killAll = (): void => {
    for (const child of children) if (isRunning(child)) child.kill("SIGKILL");
  };
  const end = async (ending: Iterable<ChildProcess>): Promise<void> => {
    const running = [...ending].filter(isRunning);
    const ended = running.map((child) => once(child, "exit"));
    for (const child of running) child.kill("SIGKILL");
    await Promise.all(ended);
  };
  // For a run that is cut short before its hooks.
  process.once("exit", killAll);
  return {
    path: (...parts) => join(root, ...parts),
    adopt(child) {
      children.add(child);
      child.once("exit", () => children.delete(child));
      if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => end([child]));
    },
    async dispose() {
      await end(children);
      process.off("exit", killAll);
      rmSync(root, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
