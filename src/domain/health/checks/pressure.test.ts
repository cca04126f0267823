import { expect, it } from "vitest";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import type { CheckSettings } from "../check.ts";
import { pressureCheck, pressureIn } from "./pressure.ts";

const { signal } = new AbortController();
type Averages = readonly [avg10: number, avg60: number, avg300: number];
const lineOf = (kind: string, [avg10, avg60, avg300]: Averages): string =>
  `${kind} avg10=${avg10.toFixed(2)} avg60=${avg60.toFixed(2)} avg300=${avg300.toFixed(2)} total=77\n`;
/** The file of a resource as the kernel has it: no pressure unless given. */
const on = (resource: string, given: { some?: Averages; full?: Averages | null } = {}) => {
  const { some = [0, 0, 0], full = [0, 0, 0] } = given;
  return { [`/proc/pressure/${resource}`]: lineOf("some", some) + (full === null ? "" : lineOf("full", full)) };
};
const run = (files: Readonly<Record<string, string>>, settings: Partial<CheckSettings> = {}) =>
  pressureCheck({ hostFiles: createFakeHostFiles(files) }).run({ ignore: [], ...settings }, signal);
const full = (percent: number) => ({ full: [0, percent, percent] as const });
const some = (percent: number) => ({ some: [0, percent, percent] as const });

it("pressure is what the kernel says of each resource, and undefined where it does not measure it", async () => {
  const files = {
    // A kernel of 2018, which says nothing of processors in full.
    ...on("cpu", { some: [0, 1.5, 2.25], full: null }),
    ...on("memory", { some: [9, 8, 7], full: [6, 5, 4] }),
  };
  expect(await pressureIn(createFakeHostFiles(files))).toEqual([
    { resource: "cpu", some: { avg10: 0, avg60: 1.5, avg300: 2.25 }, full: null },
    { resource: "memory", some: { avg10: 9, avg60: 8, avg300: 7 }, full: { avg10: 6, avg60: 5, avg300: 4 } },
  ]);
  expect(await pressureIn(createFakeHostFiles())).toBeUndefined();
  expect(await pressureIn(createFakeHostFiles({ "/proc/pressure/cpu": "!EOPNOTSUPP" }))).toBeUndefined();
});

it("pressure passes on an idle host and after a burst, and skips without figures", async () => {
  expect(await run({ ...on("cpu", { full: null }), ...on("io") })).toEqual({
    status: "pass",
    message: "Little work waits for processors, memory or disks",
    details: {
      cpu_some_avg60_percent: 0,
      cpu_some_avg300_percent: 0,
      io_some_avg60_percent: 0,
      io_some_avg300_percent: 0,
      io_full_avg60_percent: 0,
      io_full_avg300_percent: 0,
    },
    thresholds: {
      cpu_some_avg60_percent: { warn: 90, fail: Number.POSITIVE_INFINITY },
      cpu_some_avg300_percent: { warn: 90, fail: Number.POSITIVE_INFINITY },
      io_full_avg60_percent: { warn: 60, fail: 90 },
      io_full_avg300_percent: { warn: 60, fail: 90 },
    },
  });
  expect(await run(on("memory", { full: [0, 90, 9] }))).toMatchObject({
    status: "pass",
  });
  expect(await run(on("memory", { full: [0, 1, 90] }))).toMatchObject({
    status: "pass",
  });
  const busy = on("cpu", some(60));
  expect(await run(busy, { warn: 20, fail: 50 })).toMatchObject({ status: "fail" });
  expect(await run(busy, { warn: 20, fail: 50, ignore: ["cpu"] })).toMatchObject({ status: "pass" });
  expect(await run({})).toMatchObject({ status: "skip" });
});

it("pressure grades memory and disks by full pressure, processors by some pressure", async () => {
  expect(await run(on("memory", { ...some(95), ...full(9.9) }))).toMatchObject({ status: "pass" });
  expect(await run(on("memory", full(10)))).toMatchObject({
    status: "warn",
    message: "In the last minutes all work waited for memory 10 % of the time",
  });
  expect(await run(on("memory", full(30)))).toMatchObject({ status: "fail" });
  expect(await run(on("io", full(59)))).toMatchObject({ status: "pass" });
  expect(await run({ ...on("io", full(90)), ...on("cpu", some(90)) })).toMatchObject({
    status: "fail",
    message:
      "In the last minutes all work waited for disks 90 % of the time; some task waited for a processor 90 % of the time",
  });
  expect(await run(on("cpu", some(100)))).toMatchObject({ status: "warn" });
});
