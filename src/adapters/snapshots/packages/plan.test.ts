import { describe, expect, it } from "vitest";
import type { PresentPackage } from "#domain/ports/packages.ts";
import { requireReboot } from "#domain/updates/kernel-packages.ts";
import { diffPackages, planPackages } from "./plan.ts";

const at = (name: string, version: string, rest: Partial<PresentPackage> = {}): PresentPackage => ({
  name,
  architecture: "amd64",
  version,
  state: "installed",
  isManual: true,
  isHeld: false,
  ...rest,
});
const left = (name: string, version: string): PresentPackage => at(name, version, { state: "configuration" });
const names = (packages: readonly { readonly name: string; readonly architecture: string }[]): readonly string[] =>
  packages.map(({ name, architecture }) => `${name}:${architecture}`);

describe("a rollback of packages", () => {
  it("installs what differs and removes what is new", () => {
    const earlier = [at("same", "1"), at("changed", "1"), at("gone", "1"), left("bare", "1"), at("torn", "1")];
    const now = [at("same", "1"), at("changed", "2"), at("bare", "2"), at("torn", "1", { state: "unfinished" })];
    const { put, remove } = planPackages(earlier, [...now, at("came", "1"), left("came-and-went", "1")]);
    expect(names(put)).toEqual(["changed:amd64", "gone:amd64", "bare:amd64", "torn:amd64"]);
    expect(names(remove)).toEqual(["came:amd64", "came-and-went:amd64"]);
    expect(planPackages(earlier, earlier)).toEqual({ put: [], remove: [] });
  });

  it("finds each of several versions that are there beside each other", () => {
    const kernels = [at("kernel", "1"), at("kernel", "2")];
    expect(planPackages(kernels, kernels)).toEqual({ put: [], remove: [] });
    expect(planPackages(kernels, [at("kernel", "2"), at("kernel", "3")])).toEqual({
      put: [at("kernel", "1")],
      remove: [at("kernel", "3")],
    });
    expect(planPackages([at("kernel", "1")], kernels)).toEqual({ put: [], remove: [at("kernel", "2")] });
    expect(planPackages(kernels, [at("kernel", "2")])).toEqual({ put: [at("kernel", "1")], remove: [] });
  });

  it("completes unfinished packages", () => {
    const torn = at("torn", "1", { state: "unfinished" });
    expect(names(planPackages([torn], [torn]).put)).toEqual(["torn:amd64"]);
    expect(planPackages([torn], [at("torn", "1")]).put).toEqual([]);
  });

  it("replaces a package that is for another architecture now, and removes one that is there beside it", () => {
    const all = at("switched", "1", { architecture: "all" });
    expect(planPackages([all], [at("switched", "2")])).toEqual({ put: [all], remove: [] });
    const foreign = at("lib", "1", { architecture: "i386" });
    expect(names(planPackages([at("lib", "1")], [at("lib", "2"), foreign]).remove)).toEqual(["lib:i386"]);
  });
});

describe("what has changed of packages", () => {
  it("are the versions that are installed", () => {
    const all = at("switched", "1", { architecture: "all" });
    const earlier = [at("b", "1"), at("a", "1"), left("bare", "1"), all, at("same", "1")];
    const now = [at("a", "2"), at("c", "1"), at("switched", "2"), at("same", "1", { isHeld: true })];
    expect(diffPackages(earlier, now)).toEqual([
      { name: "a", architecture: "amd64", from: "1", to: "2" },
      { name: "b", architecture: "amd64", from: "1", to: null },
      { name: "c", architecture: "amd64", from: null, to: "1" },
      { name: "switched", architecture: "amd64", from: "1", to: "2" },
    ]);
  });

  it("are each of several versions that are there beside each other", () => {
    const kernels = [at("kernel", "1"), at("kernel", "2")];
    const one = { name: "kernel", architecture: "amd64" };
    expect(diffPackages(kernels, kernels)).toEqual([]);
    expect(diffPackages(kernels, [at("kernel", "2"), at("kernel", "3")])).toEqual([
      { ...one, from: "1", to: null },
      { ...one, from: null, to: "3" },
    ]);
    expect(diffPackages([at("kernel", "1")], kernels)).toEqual([{ ...one, from: null, to: "2" }]);
  });

  it.each([
    ["linux-image-6.1.0-13-amd64", true],
    ["libc6", true],
    ["systemd", true],
    ["dbus", true],
    ["libc6-dev", false],
    ["dbus-x11", false],
    ["nginx", false],
  ])("%s asks for a reboot: %s", (name, expected) => {
    expect(requireReboot([{ name }])).toBe(expected);
    expect(requireReboot([])).toBe(false);
  });
});
