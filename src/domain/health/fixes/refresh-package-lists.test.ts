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

it("refresh_package_lists downloads the lists", async () => {
  const { fix, repairs } = make(1);
  expect(fix.risk).toBe("safe");
  const { steps } = await fix.plan(found, signal);
  expect(steps.map(({ action }) => action)).toEqual(["download the package lists (apt-get update)"]);
  expect(repairs.calls).toEqual([]);
  expect(await steps[0]?.run(signal)).toBe("The package lists are as the sources have them");
  expect(repairs.calls).toEqual(["refresh"]);
});

it("refresh_package_lists fails without sources", async () => {
  const { steps } = await make(null).fix.plan(found, signal);
  await expect(steps[0]?.run(signal)).rejects.toThrow("the host has no package sources");
  const { fix, repairs } = make(1);
  repairs.trouble = "Could not resolve 'deb.example.org'";
  await expect((await fix.plan(found, signal)).steps[0]?.run(signal)).rejects.toThrow("Could not resolve");
  {
    const fix = refreshPackageListsFix({ packages: undefined });
    expect(fix.summary).toBe("Downloads the package lists");
    const { steps } = await fix.plan(found, signal);
    expect(steps.map(({ action }) => action)).toEqual(["download the package lists"]);
    await expect(steps[0]?.run(signal)).rejects.toThrow("no package manager");
  }
});

it.each([
  ["dnf makecache", " (dnf makecache)"],
  ["", ""],
] as const)("refresh_package_lists names the command %j", async (command, remark) => {
  const { fix } = make(1, command);
  expect(fix.summary).toBe(`Downloads the package lists${remark}`);
  const { steps } = await fix.plan(found, signal);
  expect(steps.map(({ action }) => action)).toEqual([`download the package lists${remark}`]);
});
