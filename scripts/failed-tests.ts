import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestModule } from "vitest/node";

/** The environment variable that names the file to which failures are added. */
export const failedTestsFile = "STEWARD_FAILED_TESTS";

interface Failure {
  readonly message: string;
  readonly stack?: string | undefined;
  readonly diff?: string | undefined;
  /** What made it fail, where it says little itself: of a property, what is wrong with the counterexample. */
  readonly cause?: unknown;
}

const maxLines = 25;
const maxColumns = 400;

const isFailure = (value: unknown): value is Failure =>
  typeof value === "object" && value !== null && typeof (value as Partial<Failure>).message === "string";

/** What happened and the place in our own sources, then the same of each cause. */
function linesOf({ message, stack, diff, cause }: Failure): readonly string[] {
  const place = stack?.split("\n").find((line) => line.trimStart().startsWith("at ") && !line.includes("node_modules"));
  const lines = stripVTControlCharacters([message, diff, place?.trim()].filter(Boolean).join("\n")).split("\n");
  const own = lines.slice(0, maxLines).map((line) => line.slice(0, maxColumns));
  return isFailure(cause) ? [...own, "caused by", ...linesOf(cause)] : own;
}

/** One failure as a few lines of plain text. */
const describeFailure = (where: string, failure: Failure): string =>
  [where, ...linesOf(failure).map((line) => `    ${line}`), ""].join("\n");

function failuresOf(module: TestModule): readonly string[] {
  const file = `${module.project.name}: ${relative(process.cwd(), module.moduleId)}`;
  const suites = [module, ...module.children.allSuites()];
  return [
    ...suites.flatMap((suite) => suite.errors().map((error) => describeFailure(file, error))),
    ...[...module.children.allTests("failed")].flatMap((test) =>
      (test.result().errors ?? []).map((error) => describeFailure(`${file} > ${test.fullName}`, error)),
    ),
  ];
}

/** Adds what failed to a file, so that it can be shown once more after the output of all runs. */
export default class FailedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly Failure[]): void {
    const file = process.env[failedTestsFile];
    if (file === undefined) return;
    const failures = [
      ...modules.flatMap(failuresOf),
      ...unhandled.map((error) => describeFailure("outside of tests", error)),
    ];
    if (failures.length > 0) appendFileSync(file, `${failures.join("\n")}\n`);
  }
}
