import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { marksOf } from "../common/marks.ts";
import { createDatabase } from "./database.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "steward-dpkg-"));
});
afterEach(() => rmSync(root, { recursive: true }));

it("marks what it read as old when it changed meanwhile", async () => {
  const paths = { status: join(root, "status"), updates: join(root, "updates") };
  // A pipe is read only once it is written to, so that there is time for a change in between.
  execFileSync("mkfifo", ["--", paths.status]);
  const reading = createDatabase(paths)();
  const writer = await open(paths.status, "w");
  chmodSync(paths.status, 0o640);
  await writer.writeFile("Package: dpkg\nStatus: install ok installed\nVersion: 1\n");
  await writer.close();
  const { entries, mark } = await reading;
  expect(entries.map(({ name }) => name)).toEqual(["dpkg"]);
  expect(mark).not.toBe(await marksOf([paths.status, paths.updates]));
});
