import { expect, it } from "vitest";
import type { PackageManagerName } from "#domain/ports/packages.ts";
import { createFakePackageManager } from "../../../../test/fakes/package-manager.ts";
import { refreshPackageListsFix } from "./refresh-package-lists.ts";

const signal = new AbortController().signal;
const found = { status: "warn", message: "", details: {} } as const;
const make = (listsAt: number | null, name: PackageManagerName = "apt") => {
  const packages = Object.assign(createFakePackageManager(), { listsAt, name });
  return { repairs: packages, fix: refreshPackageListsFix({ packages }) };
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

it.each([
  ["dnf", " (dnf makecache)"],
  ["zypper", " (zypper refresh)"],
  ["pacman", " (pacman -Sy)"],
] as const)("speaks of %s where that is the package manager", async (manager, command) => {
  const { fix } = make(1, manager);
  expect(fix.summary).toBe(`Downloads the package lists${command}`);
  const { steps } = await fix.plan(found, signal);
  expect(steps.map(({ action }) => action)).toEqual([`download the package lists${command}`]);
});

it("has failed when there are no sources, and when they do not answer", async () => {
  const { steps } = await make(null).fix.plan(found, signal);
  await expect(steps[0]?.run(signal)).rejects.toThrow("the host has no package sources");
  const { fix, repairs } = make(1);
  repairs.trouble = "Could not resolve 'deb.example.org'";
  await expect((await fix.plan(found, signal)).steps[0]?.run(signal)).rejects.toThrow("Could not resolve");
});

it("fails on a host without a package manager", async () => {
  const fix = refreshPackageListsFix({ packages: undefined });
  expect(fix.summary).toBe("Downloads the package lists");
  const { steps } = await fix.plan(found, signal);
  expect(steps.map(({ action }) => action)).toEqual(["download the package lists"]);
  await expect(steps[0]?.run(signal)).rejects.toThrow("no package manager");
});
