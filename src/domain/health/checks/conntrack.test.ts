import { expect, it } from "vitest";
import { createFakeConntrack } from "../../../../test/fakes/conntrack.ts";
import { conntrackCheck } from "./conntrack.ts";

const { signal } = new AbortController();
const run = (entries: number, settings: { readonly warn?: number; readonly fail?: number } = {}) =>
  conntrackCheck({ conntrack: createFakeConntrack({ entries, maximum: 1000 }) }).run(
    { ignore: [], ...settings },
    signal,
  );

it("conntrack grades how full the table is, and skips without one", async () => {
  expect(await run(799)).toEqual({
    status: "pass",
    message: "The table of connections is 79.9 % full: 799 of 1000",
    details: { percent_used: 79.9, entries: 799, maximum: 1000 },
    thresholds: { percent_used: { warn: 80, fail: 95 } },
  });
  expect(await run(800)).toMatchObject({
    status: "warn",
    message: expect.stringMatching(
      /when it is full, new connections are dropped \(net\.netfilter\.nf_conntrack_max\)$/,
    ),
  });
  expect(await run(950)).toMatchObject({ status: "fail" });
  expect(await run(100, { warn: 5, fail: 10 })).toMatchObject({ status: "fail" });
  const check = conntrackCheck({ conntrack: createFakeConntrack() });
  expect(await check.run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
});
