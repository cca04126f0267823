import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openLeftBehind } from "./left-behind.ts";

it("a process that is left behind is known to the next one that opens the directory, until it has ended", async () => {
  const directory = mkdtempSync(join(tmpdir(), "steward-left-"));
  const nested = join(directory, "left");
  const waiting = spawn("/usr/bin/sleep", ["1000"]);
  const first = openLeftBehind(nested);
  expect(first.paths("keys")).toEqual([]);
  first.add("keys", "/home/a b", waiting.pid ?? 0);
  expect(first.paths("keys")).toEqual(["/home/a b"]);
  expect(openLeftBehind(nested).paths("keys")).toEqual(["/home/a b"]);
  expect([first.paths("plugins"), openLeftBehind(nested).paths("plugins")]).toEqual([[], []]);
  waiting.kill("SIGKILL");
  await once(waiting, "exit");
  expect(openLeftBehind(nested).paths("keys")).toEqual([]);
  expect([first.paths("keys"), readdirSync(nested)]).toEqual([[], []]);
  rmSync(directory, { recursive: true });
});

it("a process that is left behind is known where it cannot be written down", () => {
  const left = openLeftBehind("/etc/passwd/below");
  left.add("keys", "/home/a", process.pid);
  expect(left.paths("keys")).toEqual(["/home/a"]);
});
