import { describe, expect, it } from "vitest";
import type { InstalledPackage } from "#domain/ports/packages.ts";
import { TransactionFailed } from "../transactions.ts";
import { createRpmHolds, holdNames } from "./holds.ts";

const { signal } = new AbortController();
const rpm = (name: string, rest: Partial<InstalledPackage> = {}): InstalledPackage => ({
  name,
  architecture: "x86_64",
  version: "1.0-1",
  isManual: true,
  isHeld: false,
  ...rest,
});
const installed = [
  rpm("app"),
  rpm("lib"),
  rpm("lib", { architecture: "i686" }),
  rpm("kernel"),
  rpm("kernel", { version: "2.0-1" }),
];

describe("names of packages to be held", () => {
  it("are each there once, with all architectures and versions", () => {
    expect(holdNames({ isHeld: true, packages: installed }, installed)).toEqual(["app", "lib", "kernel"]);
    expect(holdNames({ isHeld: true, packages: [] }, installed)).toEqual([]);
  });

  it.each(["absent", "-o", "a*", "!app", ""])("are refused where they name nothing that is installed: %s", (name) => {
    const packages = [rpm("app"), rpm(name)];
    expect(() => holdNames({ isHeld: true, packages }, installed)).toThrow(`${name} is not installed`);
  });

  it("are refused where an unnamed architecture would be held too, unless it is held", () => {
    const packages = [rpm("lib")];
    expect(() => holdNames({ isHeld: true, packages }, installed)).toThrow("lib is there for i686 too");
    const held = [rpm("lib"), rpm("lib", { architecture: "i686", isHeld: true })];
    expect(holdNames({ isHeld: true, packages }, held)).toEqual(["lib"]);
  });
});

describe("holds by name", () => {
  const open = (found: readonly InstalledPackage[], then: readonly InstalledPackage[] | Error) => {
    let now = found;
    return createRpmHolds({
      installed: () => Promise.resolve(now),
      commands: { hold: "lock", unhold: "unlock" },
      set: () => {
        if (then instanceof Error) return Promise.reject(then);
        now = then;
        return Promise.resolve();
      },
    });
  };
  const app = rpm("app");
  const held = rpm("app", { isHeld: true });

  it("are done when they are seen to be so", async () => {
    expect(await open([app], [held])({ isHeld: true, packages: [app] }, signal)).toMatchObject({ isDone: true });
    expect(await open([held], [app])({ isHeld: false, packages: [app] }, signal)).toMatchObject({ isDone: true });
  });

  it("are refused where something else holds a package, or keeps it from being held", async () => {
    await expect(open([held], [held])({ isHeld: false, packages: [app] }, signal)).rejects.toThrow(
      "app is held by more than a lock of its name, such as a pattern (unlock ends that)",
    );
    await expect(open([app], [app])({ isHeld: true, packages: [app] }, signal)).rejects.toThrow("another version");
  });

  it("report what failed", async () => {
    const failed = open([app], new TransactionFailed("no space left"));
    expect(await failed({ isHeld: true, packages: [app] }, signal)).toEqual({ isDone: false, reason: "no space left" });
  });
});
