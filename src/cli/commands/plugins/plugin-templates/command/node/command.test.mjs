// Runs command.mjs: node --test
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { hostname, release } from "node:os";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("command.mjs", import.meta.url));
const run = (...args) => spawnSync(program, args, { encoding: "utf8" });

test("says it as text", () => {
  const { status, stdout } = run();
  assert.deepEqual([status, stdout], [0, `host ${hostname()}\nkernel ${release()}\n`]);
});

test("says it as JSON", () => {
  const { status, stdout } = run("--json");
  assert.deepEqual([status, JSON.parse(stdout)], [0, { host: hostname(), kernel: release() }]);
});

test("refuses what it does not know", () => {
  const { status, stdout, stderr } = run("--jason");
  assert.deepEqual([status, stdout], [2, ""]);
  assert.ok(stderr.includes("usage: {{name}}"), stderr);
});
