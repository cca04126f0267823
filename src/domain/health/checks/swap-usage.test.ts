import { expect, it } from "vitest";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakeHostFacts } from "../../../../test/fakes/host-facts.ts";
import type { CheckSettings } from "../check.ts";
import { swapUsageCheck } from "./swap-usage.ts";

const { signal } = new AbortController();

/** A host whose swap is used so much, and between which and memory so many pages move in a second. */
function rig(swapFreeBytes: number, given: { swapTotalBytes?: number; pages?: number | null } = {}) {
  const { swapTotalBytes = 2e9 } = given;
  const clock = createFakeClock();
  const figures = { pages: given.pages === undefined ? 1000 : given.pages, moved: 0, atMs: clock.monotonicMs() };
  const { memory } = createFakeHostFacts({
    memory: { totalBytes: 8e9, availableBytes: 4e9, swapTotalBytes, swapFreeBytes },
  });
  /** As of a kernel without swap where there are no figures. */
  const text = () => {
    if (figures.pages === null) return Promise.resolve("nr_free_pages 77\n");
    figures.moved += ((clock.monotonicMs() - figures.atMs) / 1000) * figures.pages;
    figures.atMs = clock.monotonicMs();
    return Promise.resolve(`nr_free_pages 77\npswpin ${figures.moved}\npswpout 0\n`);
  };
  const check = swapUsageCheck({ facts: { memory }, hostFiles: { text }, clock });
  return {
    figures,
    run: async (settings: Partial<CheckSettings> = {}) => {
      const outcome = check.run({ ignore: [], ...settings }, signal);
      await clock.advance(0);
      await clock.advance(1_000);
      return outcome;
    },
    wait: (minutes: number) => clock.advance(minutes * 60_000),
  };
}

it("swap_usage names used swap and traffic, without traffic by usage alone, and skips without swap", async () => {
  expect(await rig(0.1e9).run()).toEqual({
    status: "fail",
    message: "95 % of swap is used: 95.4 MiB of 1.9 GiB left",
    details: { percent_used: 95, total_gb: 2, free_gb: 0.1, pages_per_second: 1000 },
    thresholds: { percent_used: { warn: 50, fail: 90 } },
    graded: { "": "fail" },
  });
  expect(await rig(0.1e9, { pages: null }).run()).toMatchObject({ status: "fail" });
  expect(await rig(0.1e9).run({ warn: 96, fail: 98 })).toMatchObject({ status: "pass" });
  expect(await rig(0, { swapTotalBytes: 0 }).run()).toEqual({
    status: "skip",
    message: "This host has no swap space",
    details: {},
  });
});

it.each([
  [1.002e9, "pass"],
  [1e9, "warn"],
  [0.202e9, "warn"],
  [0.2e9, "fail"],
])("swap_usage with %d of 2 GB left and pages that move is %s", async (left, status) => {
  expect(await rig(left).run()).toMatchObject({ status });
});

it("swap_usage passes while next to nothing moves, ten minutes after it moved", async () => {
  expect(await rig(0, { pages: 63 }).run()).toMatchObject({
    status: "pass",
    message: "100 % of swap is used: 0 B of 1.9 GiB left, with almost no swapping",
    details: { pages_per_second: 63 },
  });
  const { run, wait, figures } = rig(0, { pages: 64 });
  expect(await run()).toMatchObject({ status: "fail" });
  figures.pages = 0;
  await wait(9);
  expect(await run()).toMatchObject({ status: "fail" });
  await wait(2);
  expect(await run()).toMatchObject({ status: "pass" });
});
