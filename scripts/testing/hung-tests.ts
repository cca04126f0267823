import { relative } from "node:path";
import type { ReportedHookContext, Reporter, TestCase, TestModule } from "vitest/node";
import { childrenOf } from "../../test/host/processes.ts";
import { addResult } from "./results.ts";

/** How long after its own limit a test or hook that vitest has not ended counts as hanging. */
const graceMs = 60_000;

/** How many times the usual limit a hook may take: its own limit, where it has one, is not reported. */
const hookFactor = 6;

interface Running {
  readonly project: string;
  readonly file: string;
  /** The longest that a test or hook of its project may take. */
  readonly usualMs: number;
  doing: string;
  /** The limits of the tests and hooks that it is in, of several where they are concurrent. */
  readonly limitsMs: Map<string, number>;
  since: number;
}

const moduleOf = (entity: ReportedHookContext["entity"]): TestModule =>
  entity.type === "module" ? entity : entity.module;
/** Of the same file in two projects, which. */
const keyOf = (module: TestModule): string => `${module.project.name}: ${module.moduleId}`;

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
    this.#running.set(keyOf(module), {
      project: module.project.name,
      file: relative(process.cwd(), module.moduleId),
      usualMs,
      // Where a loop blocks its process at once, it does not report which test it has started.
      doing: "its start or its first tests",
      limitsMs: new Map(),
      since: performance.now(),
    });
  }

  onTestCaseReady(test: TestCase): void {
    this.#note(test.module, test.fullName)?.limitsMs.set(test.id, test.options.timeout ?? 0);
  }

  onTestCaseResult(test: TestCase): void {
    this.#note(test.module, `after ${test.fullName}`)?.limitsMs.delete(test.id);
  }

  onHookStart({ name, entity }: ReportedHookContext): void {
    const running = this.#note(moduleOf(entity), name);
    running?.limitsMs.set(`${name} ${entity.id}`, hookFactor * running.usualMs);
  }

  onHookEnd({ name, entity }: ReportedHookContext): void {
    this.#note(moduleOf(entity), `after ${name}`)?.limitsMs.delete(`${name} ${entity.id}`);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(keyOf(module));
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
  }

  #note(module: TestModule, doing: string): Running | undefined {
    const running = this.#running.get(keyOf(module));
    if (running !== undefined) Object.assign(running, { doing, since: performance.now() });
    return running;
  }

  #look(): void {
    const hung = [...this.#running.values()].filter(
      ({ since, usualMs, limitsMs }) => performance.now() - since > Math.max(usualMs, ...limitsMs.values()) + graceMs,
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
    for (const pid of descendantsOf(process.pid)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended by itself meanwhile.
      }
    }
    process.exit(1);
  }
}
