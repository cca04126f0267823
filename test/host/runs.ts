import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cgroupProcesses, removeCgroup } from "./cgroups.ts";
import type { Log } from "./commands.ts";
import { unmountDisk, unmountDiskSync, untilSync } from "./disk.ts";
import {
  childrenOf,
  describeProcess,
  findProcess,
  isAlive,
  isInit,
  killProcess,
  ownProcess,
  type ProcessId,
} from "./processes.ts";

/** What one guest (or one build) has on this machine. Its name says who owns it, so it is never without an owner. */
export type RunDirectory = {
  /** Also the name of the machine and of its control group. */
  name: string;
  path: string;
  image: string;
  root: string;
  console: string;
  record: string;
};

const live = new Set<RunDirectory>();

/** Makes a directory for one guest that is removed when this process ends, however it ends. */
export function createRunDirectory(cache: string): RunDirectory {
  const { pid, startTime } = ownProcess();
  const run = describeRun(cache, `steward-${pid}-${startTime}-${randomBytes(4).toString("hex")}`);
  installHooks();
  live.add(run);
  mkdirSync(run.root, { recursive: true, mode: 0o700 });
  return run;
}

/** Ends what runs from the directory, unmounts and deletes it. Doing it twice is fine. */
export async function removeRunDirectory(run: RunDirectory): Promise<void> {
  killRun(run);
  await unmountDisk(run.root);
  // A process in the middle of writing to its disk ends only after that, which a busy machine takes its time for.
  for (let attempt = 0; attempt < 1_200 && !removeCgroup(run.name); attempt += 1) {
    killRun(run);
    await sleep(50);
  }
  removeRunDirectorySync(run);
}

/** Removes what was left behind by processes that are no longer there. */
export function sweepRuns(cache: string, log: Log): void {
  const directory = join(cache, "runs");
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) {
    const [, pid, startTime] = /^steward-(\d+)-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || startTime === undefined || isAlive({ pid: Number(pid), startTime })) continue;
    log(`removing ${name}, left behind by a process that is gone`);
    try {
      removeRunDirectorySync(describeRun(cache, name));
    } catch (error) {
      // Another process may be sweeping the same directory; nothing here is in the way of a new guest.
      log(`cannot remove ${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** The process of the container of a run, once it is there. */
function readRecord(run: RunDirectory): ProcessId | undefined {
  if (!existsSync(run.record)) return undefined;
  const value: unknown = JSON.parse(readFileSync(run.record, "utf8"));
  if (typeof value !== "object" || value === null || !("pid" in value) || !("startTime" in value)) return undefined;
  const { pid, startTime } = value;
  return typeof pid === "number" && typeof startTime === "string" ? { pid, startTime } : undefined;
}

/** Ends the container and everything in it at once. */
export function killRun(run: RunDirectory): void {
  const container = readRecord(run);
  if (container !== undefined && isAlive(container)) {
    const inits = childrenOf(container.pid).filter(isInit).map(findProcess);
    killProcess(container);
    // The kernel ends all processes of a guest with its first one.
    for (const init of inits) if (init !== undefined) killProcess(init);
  }
  for (const pid of cgroupProcesses(run.name)) {
    const found = findProcess(pid);
    // Number 0 stands for a process that this one cannot see.
    if (pid > 0 && found !== undefined) killProcess(found);
  }
}

function describeRun(cache: string, name: string): RunDirectory {
  const path = join(cache, "runs", name);
  return {
    name,
    path,
    image: join(path, "host.img"),
    root: join(path, "root"),
    console: join(path, "console.log"),
    record: join(path, "container.json"),
  };
}

function removeRunDirectorySync(run: RunDirectory): void {
  killRun(run);
  unmountDiskSync(run.root);
  // Before the directory: as long as that is there, the next sweep comes back to what could not be removed now.
  if (!untilSync(() => removeCgroup(run.name)))
    throw new Error(
      `cannot remove control group ${run.name}: ${cgroupProcesses(run.name).map(describeProcess).join(", ") || "it holds no process"}`,
    );
  // Never a recursive removal of the root: were it still mounted, it would not be empty and this fails.
  if (existsSync(run.root)) rmdirSync(run.root);
  // systemd-nspawn keeps this one while it runs, and cannot remove it when it is killed.
  rmSync(join("/run/systemd/nspawn/propagate", run.name), { recursive: true, force: true });
  rmSync(run.path, { recursive: true, force: true });
  live.delete(run);
}

let hooked = false;

function installHooks(): void {
  if (hooked) return;
  hooked = true;
  const removeAll = (): void => {
    for (const run of live) {
      try {
        removeRunDirectorySync(run);
      } catch {
        // The next start sweeps it.
      }
    }
  };
  process.on("exit", removeAll);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    const onSignal = (): void => {
      // Somebody else listens: they decide when this process ends, and the exit hook does the rest.
      if (process.listenerCount(signal) > 1) return;
      removeAll();
      process.removeListener(signal, onSignal);
      process.kill(process.pid, signal);
    };
    process.on(signal, onSignal);
  }
}
