import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Exec, exec } from "#adapters/exec/index.ts";
import { missingLog, readRotated, rotatedNames } from "./rotated-logs.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rotated-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function textsOf(log: string, run: Exec = exec): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const text of readRotated(join(directory, log), run, new AbortController().signal)) texts.push(text);
  return texts;
}

it.each([
  [
    "history.log",
    ["history.log.10.gz", "term.log", "history.log.2.gz", "history.log.1", "history.log", "history.log.x"],
    ["history.log", "history.log.1", "history.log.2.gz", "history.log.10.gz"],
  ],
  [
    "history",
    ["history-20260131.xz", "history-20260101.gz", "historyx", "history", "history-20260201", "history.gz", "history-"],
    ["history", "history-20260201", "history-20260131.xz", "history-20260101.gz"],
  ],
])("takes the files of %s in the order of their age", (log, names, expected) =>
  expect(rotatedNames(names, log)).toEqual(expected),
);

it("rotated logs are read, compressed or not, without damaged ones", async () => {
  const write = (name: string, text: string | Buffer) => writeFileSync(join(directory, name), text);
  write("log", "five");
  write("log.1", "four");
  write("log.2.gz", gzipSync("three"));
  write("log.3.gz", "no archive");
  write("log.4.gz", gzipSync("cut off").subarray(0, 12));
  write("log.5.xz", "packed by another program");
  mkdirSync(join(directory, "log.6"));
  write("log.7.gz", gzipSync("one"));
  const asked: (readonly string[])[] = [];
  const run: Exec = (argv, options) => {
    asked.push(argv);
    options?.onOutput?.(Buffer.from("two"));
    return Promise.resolve({ exitCode: 0, stdout: "", stderr: "", truncated: false });
  };
  expect(await textsOf("log", run)).toEqual(["five", "four", "three", "two", "one"]);
  expect(asked).toEqual([["/usr/bin/xz", "--decompress", "--stdout", "--", join(directory, "log.5.xz")]]);
  const failing: Exec = () => Promise.resolve({ exitCode: 1, stdout: "", stderr: "no", truncated: false });
  expect(await textsOf("log", failing)).toEqual(["five", "four", "three", "one"]);
});

it("a rotated log that is missing is empty, and one that cannot be read is an error", async () => {
  expect(await textsOf("log")).toEqual([]);
  expect(await textsOf("none/log")).toEqual([]);
  for (const log of ["log", "none/log"])
    expect(await missingLog(join(directory, log))).toBe(`there is no ${join(directory, log)}`);
  mkdirSync(join(directory, "log"));
  expect(await missingLog(join(directory, "log"))).toBeUndefined();
  await expect(textsOf("log")).rejects.toThrow(
    `cannot read the history of packages: ${join(directory, "log")}: EISDIR: illegal operation on a directory, read`,
  );
});
