import { expect, it } from "vitest";
import { createFakePackageManager } from "../../../../test/fakes/package-manager.ts";
import { refreshPackageListsFix } from "./refresh-package-lists.ts";

const signal = new AbortController().signal;
const found = { status: "warn", message: "", details: {} } as const;
const make = (listsAt: number | null, refreshLists = "apt-get update") => {
  const fake = createFakePackageManager();
  const packages = Object.assign(fake, { listsAt, commands: { ...fake.commands, refreshLists } });
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
  ["dnf makecache", " (dnf makecache)"],
  ["", ""],
] as const)("speaks of %j where that is the command", async (command, remark) => {
  const { fix } = make(1, command);
  expect(fix.summary).toBe(`Downloads the package lists${remark}`);
  const { steps } = await fix.plan(found, signal);
  expect(steps.map(({ action }) => action)).toEqual([`download the package lists${remark}`]);
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
