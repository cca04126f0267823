import { expect, it } from "vitest";
import { createFakePackageRepairs } from "../../../../test/fakes/package-repairs.ts";
import { createFakePackageUpdates } from "../../../../test/fakes/package-updates.ts";
import { refreshPackageListsFix } from "./refresh-package-lists.ts";

const signal = new AbortController().signal;
const found = { status: "warn", message: "", details: {} } as const;
const make = (refreshedAt: number | undefined) => {
  const repairs = createFakePackageRepairs();
  return { repairs, fix: refreshPackageListsFix({ repairs, updates: createFakePackageUpdates([], refreshedAt) }) };
};

it("downloads the lists", async () => {
  const { fix, repairs } = make(1);
  expect(fix.risk).toBe("safe");
  const { steps } = await fix.plan(found, signal);
  expect(steps.map(({ action }) => action)).toEqual(["download the package lists (apt-get update)"]);
  expect(repairs.calls).toEqual([]);
  expect(await steps[0]?.run(signal)).toBe("The package lists are as the sources have them");
  expect(repairs.calls).toEqual(["refresh"]);
});

it("has failed when there are no sources, and when they do not answer", async () => {
  const { steps } = await make(undefined).fix.plan(found, signal);
  await expect(steps[0]?.run(signal)).rejects.toThrow("the host has no package sources");
  const { fix, repairs } = make(1);
  repairs.trouble = "Could not resolve 'deb.example.org'";
  await expect((await fix.plan(found, signal)).steps[0]?.run(signal)).rejects.toThrow("Could not resolve");
});
