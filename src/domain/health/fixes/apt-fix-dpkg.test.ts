import { expect, it } from "vitest";
import type { ManagerCommands, PackageManager } from "#domain/ports/packages.ts";
import { createFakePackageManager } from "../../../../test/fakes/package-manager.ts";
import { aptFixDpkgFix } from "./apt-fix-dpkg.ts";

const signal = new AbortController().signal;
const found = (details: Readonly<Record<string, unknown>>) => ({ status: "fail", message: "", details }) as const;
const fixOf = (repairs: PackageManager, commands: Partial<ManagerCommands> = {}) =>
  aptFixDpkgFix({ packages: { ...repairs, commands: { ...repairs.commands, ...commands } } });

it("apt_fix_dpkg finishes interrupted installations", async () => {
  const repairs = createFakePackageManager();
  const plan = await fixOf(repairs).plan(
    found({ unfinished: [{ name: "slow", version: "1.0" }, { name: "other" }] }),
    signal,
  );
  expect(plan).toMatchObject({ packages: ["slow", "other"] });
  expect(plan.steps.map(({ action }) => action)).toEqual([
    "finish the installation of slow 1.0, other (dpkg --configure -a)",
  ]);
  expect(repairs.calls).toEqual([]);
  expect(await plan.steps[0]?.run(signal)).toBe("dpkg has set up what can be set up");
  expect(repairs.calls).toEqual(["finish"]);
});

it("apt_fix_dpkg finishes without a package to name", async () => {
  const plan = await fixOf(createFakePackageManager()).plan(found({ interrupted: true }), signal);
  expect(plan.steps.map(({ action }) => action)).toEqual(["finish what dpkg has started (dpkg --configure -a)"]);
});

it.each([
  ["dnf", "dnf history redo last", "finish what dnf has started (dnf history redo last)"],
  ["zypper", "", "finish what zypper has started"],
] as const)("apt_fix_dpkg names the package manager %s", async (manager, finish, action) => {
  const fix = fixOf(createFakePackageManager(), { finisher: manager, finish });
  const { steps } = await fix.plan(found({ interrupted: true }), signal);
  expect(steps.map((step) => step.action)).toEqual([action]);
  expect(await steps[0]?.run(signal)).toBe(`${manager} has set up what can be set up`);
  expect(fix.summary).not.toMatch(/apt|dpkg/);
});

it.each([{}, { unfinished: "slow" }, { unfinished: [{ name: 7 }, null] }, { omitted_chars: 9 }])(
  "apt_fix_dpkg does nothing about %j",
  async (details) => {
    const plan = await fixOf(createFakePackageManager()).plan(found(details), signal);
    expect(plan).toEqual({ steps: [], reason: expect.stringContaining("names no package") });
  },
);
