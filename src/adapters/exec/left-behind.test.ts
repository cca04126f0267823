import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openLeftBehind } from "./left-behind.ts";

it("a process that is left behind is known to the next one that opens the directory, until it has ended", async () => {
  const folder = mkdtempSync(join(tmpdir(), "steward-left-"));
  const directory = join(folder, "left");
  const waiting = spawn("/usr/bin/sleep", ["1000"]);
  const first = openLeftBehind(directory);
  expect(first.paths()).toEqual([]);
  first.add("/home/a b", waiting.pid ?? 0);
  expect(first.paths()).toEqual(["/home/a b"]);
  expect(openLeftBehind(directory).paths()).toEqual(["/home/a b"]);
  waiting.kill("SIGKILL");
  await once(waiting, "exit");
  expect(openLeftBehind(directory).paths()).toEqual([]);
  expect([first.paths(), readdirSync(directory)]).toEqual([[], []]);
  rmSync(folder, { recursive: true });
});

it("a process that is left behind is known where it cannot be written down", () => {
  const left = openLeftBehind("/etc/passwd/below");
  left.add("/home/a", process.pid);
  expect(left.paths()).toEqual(["/home/a"]);
});
