import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { unitOfProcess } from "./control-group.ts";

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
