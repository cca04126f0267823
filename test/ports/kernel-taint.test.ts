import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKernelTaint } from "#adapters/procfs/kernel-taint.ts";
import { createFakeKernelTaint } from "../fakes/kernel-taint.ts";

const procDir = mkdtempSync(join(tmpdir(), "steward-proc-"));
beforeAll(() => {
  mkdirSync(join(procDir, "sys/kernel"), { recursive: true });
  writeFileSync(join(procDir, "sys/kernel/tainted"), "4225\n");
});
afterAll(() => rmSync(procDir, { recursive: true }));

describe.each([
  ["fake", createFakeKernelTaint(4225)],
  ["procfs", createKernelTaint({ procDir })],
] as const)("kernel taint: %s", (_, taint) => {
  it("has a bit for each reason", async () => {
    expect(await taint.flags()).toBe(4225);
  });
});

it("kernel taint of this machine is what its kernel says", async () => {
  expect(await createKernelTaint().flags()).toBe(Number(readFileSync("/proc/sys/kernel/tainted", "utf8")));
});
