import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBootId, unitOfProcess } from "./proc.ts";

describe("the unit of a process, by its control group", () => {
  it.each([
    ["0::/system.slice/nginx.service\n", "nginx.service"],
    ["0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1.service"],
    ["0::/user.slice/user-1000.slice/session-3.scope\n", "session-3.scope"],
    ["0::/user.slice/user-1000.slice/user@1000.service/app.slice/editor.service\n", "user@1000.service"],
    ["0::/system.slice/containerd.service/kubepods/pod1/x\n", "containerd.service"],
    ["0::/machine.slice/machine-a\\x2db.scope/payload/system.slice/x.service\n", "machine-a\\x2db.scope"],
    ["0::/init.scope\n", "init.scope"],
    ["0::/system.slice/_cpu.service\n", "cpu.service"],
    ["0::/system.slice/run-x.mount\n", "run-x.mount"],
    ["0::/\n", null],
    ["0::/../../init.scope\n", "init.scope"],
    ["0::/docker/0123abc\n", null],
    ["0::/system.slice/two words.service\n", null],
    ["", null],
    [
      "12:memory:/system.slice/other.service\n1:name=systemd:/system.slice/cron.service\n0::/system.slice/cron.service\n",
      "cron.service",
    ],
  ])("is read from %j as %j", (text, unit) => {
    expect(unitOfProcess(text)).toBe(unit);
  });

  it("is a valid unit name or none, whatever the file says", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("/", ":", "0", "a", ".", "service", "slice", "_", "\n", " ") }),
        (text) => {
          expect(unitOfProcess(text) ?? "x.service").toMatch(/^[A-Za-z0-9:_.\\@-]+$/);
        },
      ),
    );
  });
});

it("the boot id is systemd's, or else the kernel's, in the form of the journal", () => {
  expect(readBootId("0f8f1d3c1b5e4c0f9d3a2b1c0d9e8f70")).toBe("0f8f1d3c1b5e4c0f9d3a2b1c0d9e8f70");
  const kernels = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  expect(readBootId(undefined)).toBe(kernels.replaceAll("-", ""));
  expect(readBootId(undefined)).toMatch(/^[0-9a-f]{32}$/);
});
