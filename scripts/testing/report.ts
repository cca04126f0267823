import type { FileResult } from "./results.ts";

export const failedFiles = (files: readonly FileResult[]): readonly FileResult[] =>
  files.filter(({ failed }) => failed.length > 0);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const where = ({ project, file }: FileResult): string => (project === "" ? "outside of tests" : `${project}: ${file}`);

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
  const slow = [...files].sort((a, b) => b.seconds - a.seconds).slice(0, dearest);
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
