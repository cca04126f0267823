import { describe, expect, it } from "vitest";
import type { PackageFaults } from "#domain/ports/packages.ts";
import { createFakeClock } from "../../../../test/fakes/clock.ts";
import { createFakePackageManager, fakePackage } from "../../../../test/fakes/package-manager.ts";
import { packageStatusCheck } from "./package-status.ts";

const signal = new AbortController().signal;
const hour = 60 * 60_000;

const setUp = (faulty: Partial<PackageFaults> = {}) => {
  const packages = createFakePackageManager([fakePackage("dpkg", "1"), fakePackage("steady", "1")]);
  packages.faulty = faulty;
  const clock = createFakeClock();
  const check = packageStatusCheck({ packages, clock });
  return { packages, clock, check, run: (ignore: readonly string[] = []) => check.run({ ignore }, signal) };
};
const unfinished = (name: string, state = "half-configured", mustBeReinstalled = false) => ({
  name,
  version: "1.0",
  state,
  mustBeReinstalled,
});

describe("package_status", () => {
  it("passes when all is in order, and is named after the package manager", async () => {
    expect(setUp().check).toMatchObject({ id: "apt_status", fixes: ["apt_fix_dpkg", "apt_fix_dependencies"] });
    const check = packageStatusCheck({ packages: undefined, clock: createFakeClock() });
    expect(check.id).toBe("package_status");
    expect(check.fixes).toBeUndefined();
    expect(await check.run({ ignore: [] }, signal)).toMatchObject({ status: "skip", details: {} });
    expect(await setUp().run()).toMatchObject({ status: "pass", message: "2 packages installed, all in order" });
  });

  it("fails for interrupted and incomplete installations", async () => {
    expect(await setUp({ isInterrupted: true, unfinished: [unfinished("slow")] }).run()).toMatchObject({
      status: "fail",
      fixId: "apt_fix_dpkg",
      message:
        "The package manager was stopped in the middle of its work: slow (half-configured) is not fully installed; nothing can be installed, updated or removed until that is finished",
      details: { interrupted: true, unfinished: [{ name: "slow", version: "1.0", state: "half-configured" }] },
    });
    expect(await setUp({ isInterrupted: true }).run()).toMatchObject({
      status: "fail",
      message:
        "The package manager was stopped in the middle of its work; nothing can be installed, updated or removed until that is finished",
    });
    const many = ["a", "b", "c", "d"].map((name) => unfinished(name, "unpacked"));
    expect(await setUp({ unfinished: many }).run()).toMatchObject({
      status: "fail",
      fixId: "apt_fix_dpkg",
      message:
        "4 packages are not fully installed and may not work: a (unpacked), b (unpacked), c (unpacked) and 1 more",
    });
  });

  it("fails for unmet dependencies first", async () => {
    const unmet = [{ name: "needy", needs: "Depends: needed" }];
    const outcome = await setUp({ unmet, unfinished: [unfinished("needy", "unpacked")] }).run();
    expect(outcome).toMatchObject({
      status: "fail",
      fixId: "apt_fix_dependencies",
      details: { unmet_dependencies: unmet },
    });
    expect(outcome.message).toMatch(/^1 dependency of installed packages is missing: needy \(Depends: needed\); /);
    const two = await setUp({ unmet: [...unmet, { name: "other", needs: "Depends: needed" }] }).run();
    expect(two.message).toMatch(/^2 dependencies of installed packages are missing: /);
  });

  it("fails for a package to reinstall, by the fix of dependencies", async () => {
    const outcome = await setUp({
      unfinished: [unfinished("torn", "half-installed", true), unfinished("other")],
    }).run();
    expect(outcome).toMatchObject({
      status: "fail",
      fixId: "apt_fix_dependencies",
      details: { reinstall: ["torn"] },
    });
    expect(outcome.message).toMatch(/^torn was only partly unpacked and must be installed again/);
  });

  it("warns of held packages that are not ignored", async () => {
    const held = [
      { name: "linux-image-amd64", version: "6.1" },
      { name: "docker-ce", version: "24" },
    ];
    const { run } = setUp({ held });
    expect(await run()).toMatchObject({
      status: "warn",
      fixId: null,
      message:
        "2 packages held at their version and not updated: linux-image-amd64, docker-ce (apt-mark unhold ends that)",
      details: { held_packages: 2, held },
    });
    expect(await run(["linux-*"])).toMatchObject({
      status: "warn",
      message: expect.stringMatching(/^1 package held at its version/),
    });
    expect(await run(["linux-*", "docker-ce"])).toMatchObject({ status: "pass" });
  });

  it("passes while packages are being changed, for up to an hour", async () => {
    const { run, packages, clock } = setUp({ isInterrupted: true, writer: { pid: 7, program: "apt-get" } });
    expect(await run()).toMatchObject({
      status: "pass",
      message: "apt-get (process 7) is changing packages right now",
    });
    await clock.advance(hour - 1);
    expect(await run()).toMatchObject({ status: "pass" });
    await clock.advance(1);
    expect(await run()).toMatchObject({
      status: "warn",
      fixId: null,
      message: expect.stringMatching(/^apt-get \(process 7\) has been changing packages for more than an hour/),
    });
    packages.faulty = { writer: { pid: 8, program: "dpkg" } };
    expect(await run()).toMatchObject({ status: "pass", message: "dpkg (process 8) is changing packages right now" });
  });

  it("bounds its details", async () => {
    const many = Array.from({ length: 3000 }, (_, at) => unfinished(`package-${at}`));
    const { details } = await setUp({ unfinished: many }).run();
    expect(details["unfinished"]).toHaveLength(100);
    expect(details).toMatchObject({ unfinished_packages: 3000 });
  });
});
