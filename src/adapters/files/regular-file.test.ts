import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FileUnreadable, readRegularFile, readSecretFile, readTextFile } from "#adapters/files/index.ts";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "steward-files-"));
  path = join(directory, "file");
});
afterEach(() => rmSync(directory, { recursive: true }));

const maxBytes = 100;

function makeSparse(at: string): void {
  writeFileSync(at, "");
  truncateSync(at, 1e13);
}

it("a regular file is read up to the limit, also one that reports no size", () => {
  writeFileSync(path, "x".repeat(maxBytes));
  expect(readRegularFile(path, { maxBytes }).content.toString()).toBe("x".repeat(maxBytes));
  expect(readTextFile("/proc/self/status")).toContain("Pid:");
});

it("a symbolic link is followed unless that is ruled out", () => {
  writeFileSync(join(directory, "target"), "text");
  symlinkSync("target", path);
  expect(readTextFile(path)).toBe("text");
  expect(() => readTextFile(path, { followsLinks: false })).toThrow(`cannot read ${path}: it is a symbolic link`);
});

const inItsPlace: readonly [string, () => unknown, string, string?][] = [
  ["nothing", () => undefined, "there is no such file", "ENOENT"],
  ["a directory", () => mkdirSync(path), "it is a directory, not a regular file"],
  ["a named pipe", () => execFileSync("mkfifo", [path]), "it is a named pipe, not a regular file"],
  ["a device", () => symlinkSync("/dev/zero", path), "it is a device, not a regular file"],
  ["a file that is too large", () => writeFileSync(path, "x".repeat(1025)), "it is larger than 1 KiB"],
  ["a file with holes", () => makeSparse(path), "it is larger than 1 KiB"],
];

it.each(inItsPlace)("%s is refused at once when a file is read", (_, make, reason, code) => {
  make();
  const read = (): unknown => readRegularFile(path, { maxBytes: 1024 });
  expect(read).toThrow(FileUnreadable);
  expect(read).toThrow(reason);
  if (code !== undefined) expect(read).toThrow(expect.objectContaining({ code }));
});

it("a socket is not read as a file", async () => {
  const server = createServer().listen(path);
  await new Promise((resolve) => server.once("listening", resolve));
  expect(() => readRegularFile(path)).toThrow("it is not a regular file");
  await new Promise((resolve) => server.close(resolve));
});

it("a refused secret file never shows its content in the error", () => {
  for (const [content, mode, reason] of [
    ["word\nword", 0o600, "it holds more than one line"],
    [" \n", 0o600, "it is empty"],
    ["word", 0o604, "everybody can read or write it"],
  ] as const) {
    rmSync(path, { force: true });
    writeFileSync(path, content);
    execFileSync("chmod", [mode.toString(8), path]);
    expect(() => readSecretFile(path)).toThrow(reason);
    expect(() => readSecretFile(path)).not.toThrow("word");
  }
  expect(readSecretFile(path, { isGuarded: true })).toBe("word");
});
