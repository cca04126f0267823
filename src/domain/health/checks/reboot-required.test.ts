import { expect, it } from "vitest";
import { createFakeRebootNeed } from "../../../../test/fakes/reboot-need.ts";
import { rebootRequiredCheck } from "./reboot-required.ts";

const run = (changes: Parameters<typeof createFakeRebootNeed>[0] = {}) =>
  rebootRequiredCheck({ reboot: createFakeRebootNeed(changes) }).run({ ignore: [] }, new AbortController().signal);

it("reboot_required passes when nothing needs a reboot, and warns when packages do", async () => {
  expect(await run()).toMatchObject({ status: "pass" });
  expect(await run({ installedKernels: [] })).toMatchObject({ status: "pass" });
  expect(await run({ isRequested: true, packages: ["libc6"] })).toMatchObject({
    status: "warn",
    message: "Updates take effect only after a reboot: libc6 asked for it",
    details: { packages: ["libc6"] },
  });
});

it.each([
  ["6.1.0-18-amd64", ["6.1.0-9-amd64", "6.1.0-18-amd64"], "pass"],
  ["6.1.0-18-amd64", ["6.1.0-18-amd64", "6.1.0-20-amd64"], "warn"],
  ["6.1.0-18-amd64", ["6.1.0-18-amd64", "6.1.0-20-cloud-amd64"], "pass"],
  ["5.14.0-362.8.1.el9_3.x86_64", ["5.14.0-362.8.1.el9_3.x86_64", "5.14.0-427.13.1.el9_4.x86_64"], "warn"],
  ["6.9.1-arch1-1", ["6.9.3-arch1-1"], "warn"],
])(
  "reboot_required with kernel %s running and %j installed says %s",
  async (runningKernel, installedKernels, status) => {
    expect(await run({ runningKernel, installedKernels })).toMatchObject({ status });
  },
);
