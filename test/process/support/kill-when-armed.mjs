// Loaded before the program: after SIGUSR2 it kills the process right before the change of a file or a database with the number
// STEWARD_KILL_AT.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { isMainThread } from "node:worker_threads";

const at = Number(process.env.STEWARD_KILL_AT ?? "0");
let count = Number.NEGATIVE_INFINITY;

function wrap(object, name) {
  const real = object[name];
  object[name] = function wrapped(...words) {
    count += 1;
    if (count === at) process.kill(process.pid, "SIGKILL");
    return Reflect.apply(real, this, words);
  };
}

if (isMainThread) {
  for (const name of ["writeSync", "writeFileSync", "renameSync", "fsyncSync", "fdatasyncSync", "unlinkSync"])
    wrap(fs, name);
  wrap(DatabaseSync.prototype, "exec");
  wrap(StatementSync.prototype, "run");
  syncBuiltinESMExports();
  process.on("SIGUSR2", () => {
    count = 0;
    process.stderr.write("armed\n");
  });
}
