import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleCheckout } from "./package/bundle.ts";
import { root } from "./package/project.ts";

// Bundles the program for scripts/run, which finds it by the file `current`. The file is as old as the time at which the sources were
// started to be read, so that whatever changes from then on is newer.

const cache = join(root, "node_modules/.cache/program");
/** So young a bundle may be one whose program is about to be started. */
const youngMs = 10 * 60_000;

/** Whether a process of this machine runs what is in a directory: it loads parts of it when they are needed. */
function isUsed(directory: string): boolean {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.some((pid) => {
    try {
      return readFileSync(join("/proc", pid, "cmdline"), "utf8").includes(`${directory}/`);
    } catch {
      // It has ended.
      return false;
    }
  });
}

const startedAt = new Date();
const name = `${startedAt.getTime()}-${process.pid}`;
const directory = join(cache, name);
try {
  mkdirSync(directory, { recursive: true });
  await bundleCheckout(directory);
  const next = join(cache, `current-${name}`);
  writeFileSync(next, `${name}\n`);
  utimesSync(next, startedAt, startedAt);
  renameSync(next, join(cache, "current"));
} catch (error) {
  rmSync(directory, { recursive: true, force: true });
  throw error;
}
for (const entry of readdirSync(cache, { withFileTypes: true })) {
  const path = join(cache, entry.name);
  const isOld = startedAt.getTime() - statSync(path).mtimeMs > youngMs;
  if (entry.isDirectory() && isOld && !isUsed(path)) rmSync(path, { recursive: true, force: true });
}
