import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readBootId } from "./index.ts";

it("the boot id is systemd's, or else the kernel's, in the form of the journal", () => {
  expect(readBootId("0f8f1d3c1b5e4c0f9d3a2b1c0d9e8f70")).toBe("0f8f1d3c1b5e4c0f9d3a2b1c0d9e8f70");
  const kernels = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  expect(readBootId(undefined)).toBe(kernels.replaceAll("-", ""));
  expect(readBootId(undefined)).toMatch(/^[0-9a-f]{32}$/);
});
