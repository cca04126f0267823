import { appendFileSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Reporter, TestModule } from "vitest/node";

/** The environment variable that names the file to which {@link Results} adds a line for each file of tests. */
export const resultsFile = "STEWARD_TEST_RESULTS";

export interface FailedTest {
  /** Its title with those of its suites; undefined for a failure outside of a test. */
  readonly title: string | undefined;
  /** A few lines of plain text. */
  readonly failure: string;
}

/** What came of one file of tests. */
export interface FileResult {
  /** The vitest project; empty for errors outside of the tests and hooks of a file. */
  readonly project: string;
  /** Relative to the checkout; of errors outside of tests, which file ran meanwhile, or empty. */
  readonly file: string;
  readonly seconds: number;
  readonly passed: number;
  readonly skipped: number;
  readonly failed: readonly FailedTest[];
}

interface Failure {
  readonly message: string;
  readonly stack?: string | undefined;
  readonly diff?: string | undefined;
  /** Which file and test ran when nobody handled it. */
  readonly VITEST_TEST_PATH?: string | undefined;
  readonly VITEST_TEST_NAME?: string | undefined;
  /** Why it failed, where the message says little: of a property, what is wrong with the counterexample. */
  readonly cause?: unknown;
}

const maxLines = 25;
const maxColumns = 400;

const isFailure = (value: unknown): value is Failure =>
  typeof value === "object" && value !== null && typeof (value as Partial<Failure>).message === "string";

/** The message and the place in our own sources, then the same of each cause. */
function linesOf({ message, stack, diff, cause }: Failure): readonly string[] {
  const place = stack?.split("\n").find((line) => line.trimStart().startsWith("at ") && !line.includes("node_modules"));
  const lines = stripVTControlCharacters([message, diff, place?.trim()].filter(Boolean).join("\n")).split("\n");
  const own = lines.slice(0, maxLines).map((line) => line.slice(0, maxColumns));
  return isFailure(cause) ? [...own, "caused by", ...linesOf(cause)] : own;
}

const failedTest = (title: string | undefined, ...failures: readonly Failure[]): FailedTest => ({
  title,
  failure: failures.flatMap(linesOf).join("\n"),
});

const fileOf = (path: string): string => relative(process.cwd(), path);

function resultOf(module: TestModule): FileResult {
  const tests = [...module.children.allTests()];
  const states = tests.map((test) => test.result().state);
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  return {
    project: module.project.name,
    file: fileOf(module.moduleId),
    seconds: (collectDuration + setupDuration + duration) / 1000,
    passed: states.filter((state) => state === "passed").length,
    skipped: states.filter((state) => state === "skipped").length,
    failed: [
      ...[module, ...module.children.allSuites()].flatMap((suite) =>
        suite.errors().map((error) => failedTest(undefined, error)),
      ),
      ...tests
        .filter((test) => test.result().state === "failed")
        .map((test) => failedTest(test.fullName, ...(test.result().errors ?? []))),
    ],
  };
}

/** Adds results to the file that {@link resultsFile} names, where it is set. */
export function addResult(result: FileResult): void {
  const path = process.env[resultsFile];
  if (path !== undefined) appendFileSync(path, `${JSON.stringify(result)}\n`);
}

/** @param path what {@link resultsFile} named. */
export const readResults = (path: string): readonly FileResult[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as FileResult);

/** Writes down what came of each file of tests, for the process that started vitest. */
export default class Results implements Reporter {
  onTestModuleEnd(module: TestModule): void {
    addResult(resultOf(module));
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly Failure[]): void {
    const none = { project: "", seconds: 0, passed: 0, skipped: 0 };
    for (const error of unhandled) {
      const { VITEST_TEST_PATH: path, VITEST_TEST_NAME: name } = error;
      addResult({ ...none, file: path === undefined ? "" : fileOf(path), failed: [failedTest(name, error)] });
    }
    for (const module of modules.filter((each) => each.state() === "pending"))
      addResult({
        ...none,
        file: fileOf(module.moduleId),
        failed: [{ title: undefined, failure: "its process ended" }],
      });
  }
}
