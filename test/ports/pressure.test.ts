import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPressure } from "#adapters/procfs/pressure.ts";
import type { Pressure } from "#domain/ports/pressure.ts";
import { createFakePressure, fakePressureOn } from "../fakes/pressure.ts";

const procDir = mkdtempSync(join(tmpdir(), "steward-proc-"));
beforeAll(() => {
  mkdirSync(join(procDir, "pressure"));
  // A kernel of 2018, which says nothing of processors in full.
  writeFileSync(join(procDir, "pressure/cpu"), "some avg10=0.00 avg60=1.50 avg300=2.25 total=77\n");
  writeFileSync(
    join(procDir, "pressure/memory"),
    "some avg10=9.00 avg60=8.00 avg300=7.00 total=12\nfull avg10=6.00 avg60=5.00 avg300=4.00 total=9\n",
  );
});
afterAll(() => rmSync(procDir, { recursive: true }));

const recorded = [
  fakePressureOn("cpu", { some: { avg60: 1.5, avg300: 2.25 }, full: null }),
  fakePressureOn("memory", { some: { avg60: 8, avg300: 7 }, full: { avg60: 5, avg300: 4 } }),
];

describe.each([
  ["fake", createFakePressure(recorded), createFakePressure(null)],
  ["procfs", createPressure({ procDir }), createPressure({ procDir: "/nonexistent" })],
] as const)("pressure: %s", (_, present: Pressure, absent: Pressure) => {
  it("is what the kernel says of each resource", async () => {
    expect(await present.read()).toEqual(recorded);
  });

  it("is undefined where the kernel does not measure it", async () => {
    expect(await absent.read()).toBeUndefined();
  });
});

it("pressure of this machine is measured where its kernel has it", async () => {
  const found = await createPressure().read();
  expect((found ?? []).map(({ resource }) => resource)).toEqual(
    ["cpu", "memory", "io"].filter((name) => existsSync(`/proc/pressure/${name}`)),
  );
});
