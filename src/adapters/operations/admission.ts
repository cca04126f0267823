import { closeSync, mkdirSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeFileSynced } from "#adapters/files/index.ts";
import type { Clock } from "#kernel/clock.ts";
import { readIfThere } from "./files.ts";
import { isAlive, ownProcess, parseProcess } from "./process.ts";
import { isAskId, isOperationId } from "./record.ts";

/**
 * Who works on something at the moment. One operation is done at a time, and a second one finds that out by itself; asks are
 * answered beside each other, as many as the service makes.
 */
const kinds = {
  asks: { folder: "running", atOnce: 4 },
  operations: { folder: "running-operations", atOnce: 2 },
} as const;

const waitMs = 30_000;
const betweenMs = 100;
/** `steward-task@.service` starts the program with the lock on this file held, so that the others wait as a process of flock(1). */
const gateName = "gate";

function takePlace(folder: string, id: string, atOnce: number): boolean {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, id);
  writeFileSynced(path, JSON.stringify(ownProcess()));
  let others = 0;
  for (const name of readdirSync(folder)) {
    if (name === id) continue;
    const process = parseProcess(readIfThere(join(folder, name)) ?? "");
    if (process !== undefined && isAlive(process)) others += 1;
    else rmSync(join(folder, name), { force: true });
  }
  if (others < atOnce) return true;
  rmSync(path, { force: true });
  return false;
}

function openGate(path: string): void {
  for (const name of readdirSync("/proc/self/fd")) {
    let target = "";
    try {
      target = readlinkSync(join("/proc/self/fd", name));
    } catch {}
    if (target === path) closeSync(Number(name));
  }
}

/**
 * Waits for the turn of a task of root's. As long as it waits no other task is started, however many were asked for.
 * @param folder root's own, where who works is written down.
 * @returns whether there was a place in time.
 * @throws Error for a name that no task has.
 */
export async function admitTask(
  id: string,
  { folder, clock }: { readonly folder: string; readonly clock: Pick<Clock, "monotonicMs" | "sleep"> },
): Promise<boolean> {
  if (!isAskId(id) && !isOperationId(id)) throw new Error(`cannot do ${JSON.stringify(id)}: no task has such a name`);
  const kind = kinds[isAskId(id) ? "asks" : "operations"];
  const untilMs = clock.monotonicMs() + waitMs;
  try {
    for (;;) {
      const isAdmitted = takePlace(join(folder, kind.folder), id, kind.atOnce);
      if (isAdmitted || clock.monotonicMs() >= untilMs) return isAdmitted;
      await clock.sleep(betweenMs);
    }
  } finally {
    openGate(join(folder, gateName));
  }
}
