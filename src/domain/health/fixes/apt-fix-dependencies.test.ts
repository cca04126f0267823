import { expect, it } from "vitest";
import type { PackageManager } from "#domain/ports/packages.ts";
import { createFakePackageManager, fakeMissingPlan } from "../../../../test/fakes/package-manager.ts";
import { aptFixDependenciesFix } from "./apt-fix-dependencies.ts";

const signal = new AbortController().signal;
const found = (details: Readonly<Record<string, unknown>>) => ({ status: "fail", message: "", details }) as const;
const unmet = found({ unmet_dependencies: [{ name: "needy", needs: "Depends: needed" }] });
const fixOf = (repairs: PackageManager, installMissing = repairs.commands.installMissing) =>
  aptFixDependenciesFix({ packages: { ...repairs, commands: { ...repairs.commands, installMissing } } });

it("apt_fix_dependencies installs what the simulation named", async () => {
  const repairs = createFakePackageManager();
  repairs.missing = fakeMissingPlan({
    changes: [
      { name: "needed", architecture: "all", from: null, to: "1.0" },
      { name: "libfoo", architecture: "amd64", from: "1", to: "2" },
      { name: "torn", architecture: "all", from: "3", to: "3" },
    ],
    configured: ["needed", "libfoo", "torn", "needy"],
    downloadBytes: 1_500_000,
  });
  const plan = await fixOf(repairs).plan(unmet, signal);
  expect(plan).toMatchObject({ packages: ["needed", "libfoo", "torn", "needy"], downloadBytes: 1_500_000 });
  expect(plan.steps.map(({ action }) => action)).toEqual([
    "install needed 1.0, update libfoo from 1 to 2, install torn 3 again, set up needy (apt-get --fix-broken install, removing nothing)",
  ]);
  expect(repairs.calls).toEqual([]);
  expect(await plan.steps[0]?.run(signal)).toBe("Done: 3 installed or updated, 1 set up, 1.4 MiB downloaded");
  expect(repairs.calls).toEqual(["install"]);
});

it("apt_fix_dependencies does nothing but what was planned", async () => {
  const repairs = createFakePackageManager();
  const plan = await fixOf(repairs).plan(unmet, signal);
  repairs.missing = fakeMissingPlan({ changes: [{ name: "else", architecture: "all", from: null, to: "1" }] });
  await expect(plan.steps[0]?.run(signal)).rejects.toThrow("changed meanwhile");
  expect(repairs.calls).toEqual([]);
});

it.each([
  ["dnf install", "install needed 1.0, set up needy (dnf install, removing nothing)"],
  ["", "install needed 1.0, set up needy (removing nothing)"],
] as const)("apt_fix_dependencies names the command %j", async (command, action) => {
  const fix = fixOf(createFakePackageManager(), command);
  expect((await fix.plan(unmet, signal)).steps.map((step) => step.action)).toEqual([action]);
  expect(fix.summary).not.toMatch(/apt/);
});

it("apt_fix_dependencies has the reason of the package manager against it", async () => {
  const repairs = createFakePackageManager();
  repairs.missing = fakeMissingPlan({ obstacle: "apt would have to remove needy" });
  expect(await fixOf(repairs).plan(unmet, signal)).toEqual({
    steps: [],
    reason: "apt would have to remove needy",
  });
  repairs.missing = fakeMissingPlan({ changes: [], configured: [] });
  expect(await fixOf(repairs).plan(unmet, signal)).toEqual({
    steps: [],
    reason: "the package manager knows of nothing that would repair it",
  });
});

it.each([{}, { unmet_dependencies: [] }, { unmet_dependencies: "x" }, { reinstall: [7] }])(
  "apt_fix_dependencies does nothing about %j",
  async (details) => {
    const plan = await fixOf(createFakePackageManager()).plan(found(details), signal);
    expect(plan).toEqual({ steps: [], reason: expect.stringContaining("names no missing dependency") });
  },
);
