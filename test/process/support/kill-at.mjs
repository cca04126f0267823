// Loaded before the program: kills the process right before the change of the state directory with the number STEWARD_KILL_AT.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { isMainThread } from "node:worker_threads";

const { STEWARD_STATE_DIR: directory = "", STEWARD_KILL_AT: at = "0" } = process.env;
const own = new Set();
let count = 0;

const step = () => {
  count += 1;
  if (count === Number(at)) process.kill(process.pid, "SIGKILL");
};
const isOwn = (target) => (typeof target === "number" ? own.has(target) : String(target).startsWith(directory));

function wrap(object, name, matters) {
  const real = object[name];
  object[name] = function wrapped(...words) {
    if (matters(...words)) step();
    const result = Reflect.apply(real, this, words);
    if (name === "openSync" && isOwn(words[0])) own.add(result);
    return result;
  };
}

if (isMainThread) {
  for (const name of [
    "openSync",
    "writeSync",
    "writeFileSync",
    "renameSync",
    "fsyncSync",
    "fdatasyncSync",
    "mkdirSync",
  ])
    wrap(fs, name, isOwn);
  for (const name of ["chmodSync", "fchmodSync", "unlinkSync", "closeSync"]) wrap(fs, name, isOwn);
  wrap(DatabaseSync.prototype, "exec", () => true);
  wrap(StatementSync.prototype, "run", () => true);
  syncBuiltinESMExports();
}
