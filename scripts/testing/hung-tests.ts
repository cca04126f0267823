import { relative } from "node:path";
import type { ReportedHookContext, Reporter, TestCase, TestModule } from "vitest/node";
import { childrenOf } from "../../test/host/processes.ts";
import { addResult } from "./results.ts";

/** How long after its own limit a test or hook that vitest has not ended counts as hanging. */
const graceMs = 60_000;

interface Running {
  readonly project: string;
  readonly file: string;
  /** The longest that a test or hook of its project may take. */
  readonly usualMs: number;
  doing: string;
  limitMs: number;
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
    const { testTimeout, hookTimeout } = module.project.config;
    const usualMs = Math.max(testTimeout, hookTimeout);
    this.#running.set(module.moduleId, {
      project: module.project.name,
      file: relative(process.cwd(), module.moduleId),
      usualMs,
      doing: "its start",
      limitMs: usualMs,
      since: performance.now(),
    });
  }

  onTestCaseReady(test: TestCase): void {
    this.#note(test.module, test.fullName, test.options.timeout);
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

  #note(module: TestModule, doing: string, ownMs = 0): void {
    const running = this.#running.get(module.moduleId);
    if (running === undefined) return;
    running.doing = doing;
    running.limitMs = Math.max(running.usualMs, ownMs);
    running.since = performance.now();
  }

  #look(): void {
    const hung = [...this.#running.values()].filter(
      ({ since, limitMs }) => performance.now() - since > limitMs + graceMs,
    );
    if (hung.length === 0) return;
    for (const { project, file, doing, since } of hung) {
      const seconds = Math.round((performance.now() - since) / 1000);
      const failure = `hangs: silent for ${seconds} s, and was not ended by its own limit`;
      console.error(`${project}: ${file} > ${doing}\n    ${failure}\n`);
      addResult({ project, file, seconds, passed: 0, skipped: 0, failed: [{ title: doing, failure }] });
    }
    addResult({
      project: "",
      file: "",
      seconds: 0,
      passed: 0,
      skipped: 0,
      failed: [{ title: undefined, failure: "the run was ended for what hangs" }],
    });
    for (const pid of descendantsOf(process.pid)) process.kill(pid, "SIGKILL");
    process.exit(1);
  }
}
