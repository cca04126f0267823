import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import type { AvailableUpdates, InstalledPackage, PackageManager, TransactionPlan } from "#domain/ports/packages.ts";
import { UpdateRefused } from "#domain/ports/packages.ts";
import { isKernelPackage } from "#domain/updates/kernel-packages.ts";
import { createFakePackageManager, fakePackage } from "../fakes/package-manager.ts";

const { signal } = new AbortController();
const progress = { step: () => undefined, line: () => undefined };
const everything = { type: "packages", isSecurityOnly: false, names: undefined } as const;

function fake(): PackageManager {
  const manager = createFakePackageManager([
    fakePackage("dpkg", "1.0"),
    fakePackage("openssl", "3.0", { isManual: false }),
    fakePackage("pinned", "1.0", { isHeld: true }),
    fakePackage("steady", "1.0"),
  ]);
  manager.repository.set("dpkg", { version: "1.1", isSecurity: false });
  manager.repository.set("openssl", { version: "3.1", isSecurity: true });
  manager.repository.set("pinned", { version: "1.1", isSecurity: true });
  return manager;
}

/** The package manager of the machine that the tests run on: it is only asked. What it does is tried in test/host. */
const openApt = (): PackageManager => apt.open({ exec, clock: systemClock, needsReboot: () => Promise.resolve(false) });

const hasApt = existsSync("/usr/bin/apt-get") && existsSync("/var/lib/dpkg/status");

describe.each<readonly [string, () => PackageManager, boolean]>([
  ["fake", fake, true],
  ["apt", openApt, hasApt],
])("a package manager: %s", (_, make, isThere) => {
  describe.skipIf(!isThere)("that is asked", () => {
    let manager: PackageManager;
    let installed: readonly InstalledPackage[];
    let available: AvailableUpdates;
    let plan: TransactionPlan;
    const keyOf = ({ name, architecture }: { name: string; architecture: string }): string => `${name}:${architecture}`;

    beforeAll(async () => {
      manager = make();
      installed = await manager.installed(signal);
      available = await manager.lists.updates(signal);
      plan = await manager.plan(everything, signal);
    });

    it("knows every installed package once, with its version", () => {
      expect(installed.map(({ name }) => name)).toContain("dpkg");
      expect(new Set(installed.map(keyOf)).size).toBe(installed.length);
      for (const { version, architecture } of installed) expect([version, architecture]).not.toContain("");
    });

    it("offers updates of what is installed and not held, from the version that it has", () => {
      const versions = new Map(installed.map((each) => [keyOf(each), each.version]));
      for (const { name, architecture, from, to } of available.updates) {
        expect(versions.get(keyOf({ name, architecture }))).toBe(from);
        expect([from, null]).not.toContain(to);
        expect(available.held).not.toContain(name);
      }
    });

    it("names the packages that are held", () => {
      const held = installed.filter(({ isHeld }) => isHeld).map(({ name }) => name);
      expect([...available.held].sort()).toEqual([...held].sort());
    });

    it("plans no removal but of old kernels, and nothing that is held, and does nothing by it", async () => {
      for (const { name, to } of plan.changes) {
        expect(to !== null || isKernelPackage(name)).toBe(true);
        expect(available.held).not.toContain(name);
      }
      expect(await manager.installed(signal)).toEqual(installed);
    });

    it("plans no more for security than security updates and what they bring along", async () => {
      const all = await manager.plan({ ...everything, isSecurityOnly: true }, signal);
      const changes = all.changes.filter(({ name, to }) => to !== null || !isKernelPackage(name));
      for (const { isSecurity, from } of changes) expect(isSecurity || from === null).toBe(true);
      const pending = available.updates.filter(({ isSecurity }) => isSecurity).map(({ name }) => name);
      for (const { name, from } of changes) if (from !== null) expect(pending).toContain(name);
    });

    it.each(["no-such-package-anywhere", "--help", "", "a b"])("refuses %j, which is not installed", async (name) => {
      await expect(manager.plan({ ...everything, names: [name] }, signal)).rejects.toThrow(UpdateRefused);
    });

    it.each(["no-such-package-anywhere", "--help", "", "a b"])("neither holds nor releases %j", async (name) => {
      const packages = [{ name, architecture: "all" }];
      for (const isHeld of [true, false])
        await expect(manager.holds.set({ isHeld, packages }, signal)).rejects.toThrow(UpdateRefused);
      expect(await manager.holds.set({ isHeld: true, packages: [] }, signal)).toEqual({ isDone: true, reason: "" });
      expect(await manager.installed(signal)).toEqual(installed);
    });

    const names = ["no-such-package-anywhere", "no.such:any", "--help", "", "a b"];
    it.each(names)("plans neither to install nor to remove %j", async (name) => {
      for (const change of ["install", "remove", "purge"] as const)
        await expect(manager.plan({ change, names: [name], removesOnlyNamed: false }, signal)).rejects.toThrow(
          UpdateRefused,
        );
    });

    it("plans nothing for a package in its newest version, and has a reason for each unremovable package", async () => {
      const pending = new Set(available.updates.map(keyOf));
      const steady = installed.find((each) => !each.isHeld && !pending.has(keyOf(each))) ?? fakePackage("none", "");
      const request = { change: "install", names: [steady.name], removesOnlyNamed: false } as const;
      expect((await manager.plan(request, signal)).changes).toEqual([]);
      for (const reason of (await manager.unremovable(signal)).values()) expect(reason).not.toBe("");
    });

    it("has nothing to do for no names", async () => {
      expect((await manager.plan({ ...everything, names: [] }, signal)).changes).toEqual([]);
    });

    it("completes an empty plan at once, and the wait for an unknown transaction", async () => {
      const nothing = { changes: [], downloadBytes: 0, diskBytes: 0 };
      expect(await manager.transactions.commit(nothing, { id: "nobody-began-it", progress }, signal)).toEqual({
        isDone: true,
        reason: "",
      });
      await expect(manager.transactions.settle("nobody-began-it", signal)).resolves.toBeUndefined();
    });

    it("reports what must be restarted, and what was left half-done", async () => {
      const { requiresReboot, units } = await manager.restartNeeds(signal);
      expect(requiresReboot).toBe(false);
      expect(units.every((unit) => unit.endsWith(".service"))).toBe(true);
      expect(await manager.transactions.audit(signal)).toEqual([]);
    });
  });
});
