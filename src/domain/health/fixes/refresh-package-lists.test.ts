import { expect, it } from "vitest";
import { createFakePackageRepairs } from "../../../../test/fakes/package-repairs.ts";
import { createFakePackageUpdates } from "../../../../test/fakes/package-updates.ts";
import type { ManagerName } from "../manager-words.ts";
import { refreshPackageListsFix } from "./refresh-package-lists.ts";

const signal = new AbortController().signal;
const found = { status: "warn", message: "", details: {} } as const;
const make = (refreshedAt: number | undefined, manager: ManagerName) => {
  const repairs = createFakePackageRepairs();
  const updates = createFakePackageUpdates([], refreshedAt);
  return { repairs, fix: refreshPackageListsFix({ repairs, updates, packages: { manager } }) };
};

it("downloads the lists", async () => {
  const { fix, repairs } = make(1, "apt");
  expect(fix.risk).toBe("safe");
  const { steps } = await fix.plan(found, signal);
  expect(steps.map(({ action }) => action)).toEqual(["download the package lists (apt-get update)"]);
  expect(repairs.calls).toEqual([]);
  expect(await steps[0]?.run(signal)).toBe("The package lists are as the sources have them");
  expect(repairs.calls).toEqual(["refresh"]);
});

it.each([
  ["dnf", " (dnf makecache)"],
  ["zypper", " (zypper refresh)"],
  ["pacman", " (pacman -Sy)"],
  [undefined, ""],
] as const)("speaks of %s where that is the package manager", async (manager, command) => {
  const { fix } = make(1, manager);
  expect(fix.summary).toBe(`Downloads the package lists${command}`);
  const { steps } = await fix.plan(found, signal);
  expect(steps.map(({ action }) => action)).toEqual([`download the package lists${command}`]);
});

it("has failed when there are no sources, and when they do not answer", async () => {
  const { steps } = await make(undefined, "apt").fix.plan(found, signal);
  await expect(steps[0]?.run(signal)).rejects.toThrow("the host has no package sources");
  const { fix, repairs } = make(1, "apt");
  repairs.trouble = "Could not resolve 'deb.example.org'";
  await expect((await fix.plan(found, signal)).steps[0]?.run(signal)).rejects.toThrow("Could not resolve");
});
