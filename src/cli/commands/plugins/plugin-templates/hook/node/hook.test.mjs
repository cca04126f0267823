// Runs hook.mjs with events made for it: node --test
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("hook.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "plugin-"));
after(() => rmSync(folder, { recursive: true }));

function call(event, file = join(folder, "freeze")) {
  const input = JSON.stringify({ event, at: "2026-01-01T00:00:00.000Z", subject: {} });
  const { status, stdout } = spawnSync(program, [file], { input, encoding: "utf8" });
  return [status, stdout === "" ? undefined : JSON.parse(stdout)];
}

test("lets updates be", () => {
  assert.deepEqual(call("pre_update", join(folder, "none")), [0, undefined]);
});

test("says no with the reason, to updates alone", () => {
  writeFileSync(join(folder, "freeze"), 'end of "quarter"\nask Ada\n');
  assert.deepEqual(call("pre_update"), [0, { veto: true, reason: 'end of "quarter"' }]);
  assert.deepEqual(call("post_update"), [0, undefined]);
  writeFileSync(join(folder, "freeze"), "");
  assert.deepEqual(call("pre_update"), [0, { veto: true, reason: "updates are frozen" }]);
});
