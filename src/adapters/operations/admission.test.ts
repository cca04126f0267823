import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { systemClock } from "../clock/index.ts";
import { admitTask } from "./admission.ts";
import { ownProcess } from "./process.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "steward-admission-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const askAt = (at: number): string => `ask-${at.toString(16).padStart(32, "0")}`;
const operationAt = (at: number): string => `20260131-235959-999-${at.toString(16).padStart(8, "0")}`;
const occupy = (name: string, id: string, process: object = ownProcess()): void => {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, id), JSON.stringify(process));
};
const admit = (id: string, clock: Parameters<typeof admitTask>[1]["clock"] = systemClock) =>
  admitTask(id, { folder, clock });

it("has four asks and two operations at work, and counts nobody who is gone", async () => {
  const gone = { ...ownProcess(), startTicks: 1 };
  for (let at = 0; at < 20; at += 1) occupy("running", askAt(100 + at), gone);
  for (let at = 0; at < 3; at += 1) occupy("running", askAt(at));
  expect(await admit(askAt(3))).toBe(true);
  expect(readdirSync(join(folder, "running"))).toHaveLength(4);
  // Asks take nothing from operations.
  expect(await admit(operationAt(0))).toBe(true);
  expect(await admit(operationAt(1))).toBe(true);
});

it.each([
  ["running", 4, askAt],
  ["running-operations", 2, operationAt],
] as const)("waits for a place in %s, and not for ever", async (name, atOnce, idAt) => {
  for (let at = 0; at < atOnce; at += 1) occupy(name, idAt(at));
  const clock = createFakeClock();
  const late = admit(idAt(50), clock);
  await clock.advance(60_000);
  expect(await late).toBe(false);
  expect(readdirSync(join(folder, name))).toHaveLength(atOnce);

  const next = admit(idAt(51), clock);
  rmSync(join(folder, name, idAt(0)));
  await clock.advance(1_000);
  expect(await next).toBe(true);
});

it("opens the gate that it was started with, whatever comes of it, and closes nothing else", async () => {
  const gate = join(folder, "gate");
  writeFileSync(gate, "");
  const other = openSync(join(folder, "other"), "w");
  for (const isFull of [false, true]) {
    if (isFull) for (let at = 0; at < 4; at += 1) occupy("running", askAt(at));
    const held = openSync(gate, "r");
    const clock = createFakeClock();
    const admitted = admit(askAt(60), clock);
    await clock.advance(60_000);
    await admitted;
    expect(() => closeSync(held)).toThrow("EBADF");
  }
  closeSync(other);
});

it.each(["", "..", "../x", "a/b", "-x", "Ask-0", "ask 0"])("refuses the name %j", async (id) => {
  await expect(admit(id)).rejects.toThrow("no task has such a name");
  expect(readdirSync(folder)).toEqual([]);
});
