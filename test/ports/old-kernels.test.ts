import { existsSync } from "node:fs";
import { release } from "node:os";
import { describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { apt } from "#adapters/packages/apt/index.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import { isKernelPackage } from "#domain/updates/kernel-packages.ts";
import { createFakePackageManager, fakePackage } from "../fakes/package-manager.ts";

const { signal } = new AbortController();
const everything = { type: "packages", isSecurityOnly: false, names: undefined } as const;
const kernels = [18, 19, 20, 21].map((at) => fakePackage(`linux-image-6.1.0-${at}-amd64`, "1", { isManual: false }));
const hasApt = existsSync("/usr/bin/apt-get") && existsSync("/var/lib/dpkg/status");

/** The one of this machine is only asked: test/host removes kernels with it. */
describe.each<readonly [string, () => PackageManager, boolean]>([
  ["fake", () => createFakePackageManager(kernels), true],
  ["apt", () => apt.open({ exec, clock: systemClock, needsReboot: () => Promise.resolve(false) }), hasApt],
])("old kernels: %s", (_, make, isThere) => {
  it.skipIf(!isThere)("are kernels that do not run, go with an update of everything, and never by name", async () => {
    const manager = make();
    const { changes = [] } = (await manager.oldKernels?.plan(signal)) ?? {};
    for (const { name, to } of changes) {
      expect([isKernelPackage(name), to]).toEqual([true, null]);
      expect(name).not.toContain(release());
    }
    const isRemoval = ({ to }: { to: string | null }): boolean => to === null;
    expect((await manager.simulate(everything, signal)).changes.filter(isRemoval)).toEqual(changes);
    const names = changes.map(({ name }) => name);
    expect((await manager.simulate({ ...everything, names }, signal)).changes.filter(isRemoval)).toEqual([]);
  });
});
