import { expect, it } from "vitest";
import { createFakeHostFiles } from "../../../../test/fakes/host-files.ts";
import { conntrackCheck } from "./conntrack.ts";

const { signal } = new AbortController();
const run = (entries: number, settings: { readonly warn?: number; readonly fail?: number } = {}, maximum = 1000) => {
  const directory = "/proc/sys/net/netfilter";
  const files = {
    [`${directory}/nf_conntrack_count`]: `${entries}\n`,
    [`${directory}/nf_conntrack_max`]: `${maximum}\n`,
  };
  const hostFiles = createFakeHostFiles(files);
  return conntrackCheck({ hostFiles }).run({ ignore: [], ...settings }, signal);
};

it("conntrack grades how full the table is, and skips without one or a limit of it", async () => {
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
  expect(await run(100, {}, 0)).toMatchObject({ status: "skip" });
  const check = conntrackCheck({ hostFiles: createFakeHostFiles() });
  expect(await check.run({ ignore: [] }, signal)).toMatchObject({ status: "skip" });
});
