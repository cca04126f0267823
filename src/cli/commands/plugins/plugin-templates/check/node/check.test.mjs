// Runs check.mjs on folders made for it: node --test
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("check.mjs", import.meta.url));

function check(...args) {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8" });
  return [status, stdout];
}

/** Calls the test with a folder that is gone afterwards. */
const inFolder = (body) => () => {
  const folder = mkdtempSync(join(tmpdir(), "plugin-"));
  try {
    body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

test(
  "counts what is in the folder",
  inFolder((folder) => {
    const options = ["--dir", folder, "--warn", "1", "--crit", "2"];
    assert.deepEqual(check(...options), [0, `{{label}} OK - 0 entries in ${folder} | entries=0;1;2;0\n`]);
    for (const name of ["one", ".two"]) writeFileSync(join(folder, name), "");
    assert.deepEqual(check(...options), [1, `{{label}} WARNING - 2 entries in ${folder} | entries=2;1;2;0\n`]);
    writeFileSync(join(folder, "a b"), "");
    assert.deepEqual(check(...options), [2, `{{label}} CRITICAL - 3 entries in ${folder} | entries=3;1;2;0\n`]);
  }),
);

test(
  "says what it cannot find out",
  inFolder((folder) => {
    const [code, text] = check("--dir", join(folder, "none"), "--warn", "1", "--crit", "2");
    assert.equal(code, 3);
    assert.ok(text.startsWith("{{label}} UNKNOWN - ENOENT"), text);
    const wrong = check("--dir", folder, "--warn", "many", "--crit", "2");
    assert.deepEqual(wrong, [3, "{{label}} UNKNOWN - --warn and --crit take numbers\n"]);
  }),
);
