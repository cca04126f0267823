import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleCheckout } from "./package/bundle.ts";
import { root } from "./package/project.ts";

// Bundles the program for scripts/run, which finds it by the file `current`. The file is as old as the moment at which the sources were
// begun to be read, so that whatever changes from then on is newer.

const cache = join(root, "node_modules/.cache/program");
/** So young a bundle may be one whose program is about to be started. */
const youngMs = 10 * 60_000;

/** Whether a process of this machine runs what is in a folder: it loads parts of it when they are needed. */
function isUsed(folder: string): boolean {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.some((pid) => {
    try {
      return readFileSync(join("/proc", pid, "cmdline"), "utf8").includes(`${folder}/`);
    } catch {
      // It has ended.
      return false;
    }
  });
}

const begunAt = new Date();
const name = `${begunAt.getTime()}-${process.pid}`;
const folder = join(cache, name);
try {
  mkdirSync(folder, { recursive: true });
  await bundleCheckout(folder);
  const next = join(cache, `current-${name}`);
  writeFileSync(next, `${name}\n`);
  utimesSync(next, begunAt, begunAt);
  renameSync(next, join(cache, "current"));
} catch (error) {
  rmSync(folder, { recursive: true, force: true });
  throw error;
}
for (const entry of readdirSync(cache, { withFileTypes: true })) {
  const path = join(cache, entry.name);
  const isOld = begunAt.getTime() - statSync(path).mtimeMs > youngMs;
  if (entry.isDirectory() && isOld && !isUsed(path)) rmSync(path, { recursive: true, force: true });
}
