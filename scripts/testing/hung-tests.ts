import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import type { ReportedHookContext, Reporter, TestCase, TestModule } from "vitest/node";
import { childrenOf } from "../test/host/processes.ts";
import { failedTestsFile } from "./failed-tests.ts";

/** Longer than any limit of a test or a hook: what is silent for this long does not let its own limit end it. */
const limitMs = 15 * 60_000;

interface Running {
  readonly project: string;
  readonly file: string;
  doing: string;
  since: number;
}

function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/**
 * Ends a run in which a file of tests hangs where no limit of vitest reaches it, as a loop without end does, and names
 * the file and what it did. Without this the run would be ended from outside, with nothing said.
 */
export default class HungTests implements Reporter {
  readonly #running = new Map<string, Running>();
  #timer: NodeJS.Timeout | undefined;

  onTestRunStart(): void {
    this.#timer = setInterval(() => this.#look(), 15_000);
    this.#timer.unref();
  }

  onTestModuleQueued(module: TestModule): void {
    this.#running.set(module.moduleId, {
      project: module.project.name,
      file: relative(process.cwd(), module.moduleId),
      doing: "its start",
      since: performance.now(),
    });
  }

  onTestCaseReady(test: TestCase): void {
    this.#note(test.module, test.fullName);
  }

  onTestCaseResult(test: TestCase): void {
    this.#note(test.module, `after ${test.fullName}`);
  }

  onHookStart({ name, entity }: ReportedHookContext): void {
    this.#note(entity.type === "module" ? entity : entity.module, name);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.moduleId);
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
  }

  #note(module: TestModule, doing: string): void {
    const running = this.#running.get(module.moduleId);
    if (running === undefined) return;
    running.doing = doing;
    running.since = performance.now();
  }

  #look(): void {
    const hung = [...this.#running.values()].filter(({ since }) => performance.now() - since > limitMs);
    if (hung.length === 0) return;
    const lines = hung.map(
      ({ project, file, doing }) =>
        `${project}: ${file} > ${doing}\n    hangs: silent for ${limitMs / 60_000} minutes\n`,
    );
    console.error(lines.join("\n"));
    const failures = process.env[failedTestsFile];
    if (failures !== undefined) appendFileSync(failures, `${lines.join("\n")}\n`);
    for (const pid of descendantsOf(process.pid)) process.kill(pid, "SIGKILL");
    process.exit(1);
  }
}
