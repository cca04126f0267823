import { expect, it } from "vitest";
import { createFakeHostFacts } from "../../../../test/fakes/host-facts.ts";
import { createFakeProcessFiles } from "../../../../test/fakes/process-files.ts";
import type { CheckSettings } from "../check.ts";
import { fileDescriptorsCheck } from "./file-descriptors.ts";

const { signal } = new AbortController();
const leaky = (open: number) => ({ pid: 7, name: "leaky", open, limit: 1000 });
const run = (
  { used = 1, maximum = 1000, processes = [] as Parameters<typeof createFakeProcessFiles>[0] },
  settings: Partial<CheckSettings> = {},
) =>
  fileDescriptorsCheck({
    facts: createFakeHostFacts({ fileHandles: { used, maximum } }),
    processFiles: createFakeProcessFiles(processes),
  }).run({ ignore: [], ...settings }, signal);

it.each([
  [699, "pass"],
  [700, "warn"],
  [899, "warn"],
  [900, "fail"],
] as const)("file_descriptors with %s of 1000 handles open in the system is %s", async (used, status) => {
  expect(await run({ used })).toMatchObject({ status, details: { percent_used: used / 10 } });
});

it.each([
  [699, "pass"],
  [700, "warn"],
  [900, "fail"],
] as const)("file_descriptors with %s of 1000 files open in a process is %s", async (open, status) => {
  expect(await run({ processes: [leaky(open), { ...leaky(1), name: "quiet" }] })).toMatchObject({ status });
});

it("file_descriptors names the process, takes thresholds, and passes without a limit", async () => {
  expect(await run({ processes: [leaky(950)] })).toEqual({
    status: "fail",
    message: "leaky (7) has 95 % of its files open: 950 of 1000 (LimitNOFILE=)",
    graded: { "leaky (7)": "fail" },
    details: {
      percent_used: 0.1,
      used: 1,
      maximum: 1000,
      processes: [{ pid: 7, name: "leaky", open: 950, limit: 1000, percent_used: 95 }],
    },
    thresholds: { percent_used: { warn: 70, fail: 90 } },
  });
  expect(await run({ used: 800 })).toMatchObject({
    message: "80 % of the file handles of the system are open: 800 of 1000",
  });
  expect(await run({ used: 5000, maximum: 2 ** 63 })).toEqual({
    status: "pass",
    message: "No process is near its limit of open files",
    details: { percent_used: 0, used: 5000, maximum: null, processes: [] },
    thresholds: { percent_used: { warn: 70, fail: 90 } },
  });
  expect(await run({ processes: [leaky(500)] }, { warn: 10, fail: 50 })).toMatchObject({ status: "fail" });
  expect(await run({ processes: [leaky(999)] }, { ignore: ["leak*"] })).toMatchObject({ status: "pass" });
});
