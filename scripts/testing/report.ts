import type { FileResult } from "./results.ts";

export const failedFiles = (files: readonly FileResult[]): readonly FileResult[] =>
  files.filter(({ failed }) => failed.length > 0);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const where = ({ project, file }: FileResult): string =>
  project === "" ? ["outside of tests", file].filter((each) => each !== "").join(", during ") : `${project}: ${file}`;

/** What came of a file that failed and was run once more, alone. */
export interface Repetition {
  readonly first: FileResult;
  /** The exit status of vitest. */
  readonly code: number;
  readonly files: readonly FileResult[];
}

/** What a run comes to with its repetitions. */
export interface Outcome {
  /** What failed both times, as it did the second time. */
  readonly failed: readonly FileResult[];
  /** What failed and then passed, as it failed. */
  readonly unstable: readonly FileResult[];
  /** Each file once: as it came out last. */
  readonly files: readonly FileResult[];
}

export function outcomeOf(results: readonly FileResult[], repetitions: readonly Repetition[]): Outcome {
  // Where vitest fails and blames no file, the failure of the first run stands.
  const last = ({ first, code, files }: Repetition): readonly FileResult[] =>
    code === 0 || failedFiles(files).length > 0 ? files : [first];
  const repeated = repetitions.map(({ first }) => first);
  const files = [...results.filter((each) => !repeated.includes(each)), ...repetitions.flatMap(last)];
  const unstable = repetitions.filter(({ code }) => code === 0).map(({ first }) => first);
  return { failed: failedFiles(files), unstable, files };
}

/** What failed in some files, as plain text. */
export const failureText = (files: readonly FileResult[]): string =>
  files
    .flatMap((file) =>
      file.failed.map(({ title, failure }) =>
        [[where(file), ...(title === undefined ? [] : [title])].join(" > "), failure.replace(/^/gm, "    ")].join("\n"),
      ),
    )
    .join("\n\n");

/** A file that failed and then passed alone: one line for each test, with the first line of its failure. */
export const unstableText = (files: readonly FileResult[]): string =>
  files
    .flatMap(({ file, failed }) =>
      failed.map(
        ({ title, failure }) => `unstable: ${file}, ${title ?? "outside of a test"}: ${failure.split("\n")[0]}`,
      ),
    )
    .join("\n");

/** A table of projects with files, tests and seconds, and the files that take longest. */
export function timeText(files: readonly FileResult[], dearest = 15): string {
  const projects = [...new Set(files.map(({ project }) => project))].filter((name) => name !== "");
  const rows = projects.map((name) => {
    const own = files.filter(({ project }) => project === name);
    const tests = sum(own.map(({ passed, skipped, failed }) => passed + skipped + failed.length));
    const seconds = sum(own.map((file) => file.seconds));
    return `  ${name.padEnd(11)} ${String(own.length).padStart(4)} files ${String(tests).padStart(6)} tests ${seconds.toFixed(0).padStart(5)} s`;
  });
  const slow = files
    .filter(({ project }) => project !== "")
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, dearest);
  return [
    "time of files, added up:",
    ...rows,
    "dearest files:",
    ...slow.map(({ file, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${file}`),
  ].join("\n");
}

/** The line that a reader of the log looks for. */
export const countText = (files: readonly FileResult[]): string =>
  `${sum(files.map(({ passed }) => passed))} passed, ${sum(files.map(({ failed }) => failed.length))} failed, ${sum(files.map(({ skipped }) => skipped))} skipped`;
