import { expect, it } from "vitest";
import { createFakeHostFacts } from "../../../../test/fakes/host-facts.ts";
import { fileDescriptorsCheck } from "./file-descriptors.ts";

const { signal } = new AbortController();
const run = (used: number, settings: { warn?: number; fail?: number } = {}, maximum = 1000) =>
  fileDescriptorsCheck({ facts: createFakeHostFacts({ fileHandles: { used, maximum } }) }).run(
    { ignore: [], ...settings },
    signal,
  );

it.each([
  [699, "pass"],
  [700, "warn"],
  [899, "warn"],
  [900, "fail"],
])("with %d of 1000 open is %s", async (used, status) => {
  expect(await run(used)).toMatchObject({ status });
});

it("says how many are open", async () => {
  expect(await run(750)).toMatchObject({
    message: "75 % of the file handles of the system are open: 750 of 1000",
    details: { percent_used: 75, used: 750, maximum: 1000 },
  });
});

it("takes its thresholds from settings, and no limit for one that is far away", async () => {
  expect(await run(100, { warn: 5, fail: 10 })).toMatchObject({ status: "fail" });
  expect(await run(100, {}, 2 ** 63)).toMatchObject({ status: "pass", details: { percent_used: 0 } });
});
