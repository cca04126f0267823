import { describe, expect, it } from "vitest";
import { fakePackage } from "../../../test/fakes/package-manager.ts";
import { isKernelPackage, oldKernelPackages } from "./kernel-packages.ts";

const auto = { isManual: false };
const image = (release: string, rest = {}) => fakePackage(`linux-image-${release}`, "1", { ...auto, ...rest });
const old = (running: string, ...installed: readonly ReturnType<typeof fakePackage>[]): readonly string[] =>
  oldKernelPackages(installed, running).map(({ name }) => name);
const images = [9, 10, 18, 20].map((at) => image(`6.1.0-${at}-amd64`));

it.each([
  "linux-image-6.1.0-18-amd64",
  "linux-image-6.12.38+deb13-cloud-amd64",
  "linux-headers-6.1.0-18-common",
  "linux-headers-5.15.0-91",
  "linux-image-unsigned-5.15.0-91-generic",
  "linux-modules-extra-5.15.0-91-generic",
  "linux-modules-nvidia-535-5.15.0-91-generic",
])("%s is of one kernel", (name) => {
  expect(isKernelPackage(name)).toBe(true);
});

it.each(["linux-image-amd64", "linux-headers-generic", "linux-libc-dev", "linux-base", "linux-kbuild-6.1"])(
  "%s is of no single kernel",
  (name) => {
    expect(isKernelPackage(name)).toBe(false);
  },
);

describe("old kernels", () => {
  it("are neither the running one, nor the newest, nor the newest beside these", () => {
    expect(old("6.1.0-20-amd64", ...images)).toEqual(["linux-image-6.1.0-9-amd64", "linux-image-6.1.0-10-amd64"]);
    expect(old("6.1.0-18-amd64", ...images)).toEqual(["linux-image-6.1.0-9-amd64"]);
    expect(old("6.1.0-9-amd64", ...images)).toEqual(["linux-image-6.1.0-10-amd64"]);
  });

  it("leave two where what runs is of no package, as in a container", () => {
    expect(old("6.18.44-custom", ...images)).toEqual(["linux-image-6.1.0-9-amd64", "linux-image-6.1.0-10-amd64"]);
  });

  it("are not found where two are installed, or no bootable one", () => {
    expect(old("6.18.44", ...images.slice(2))).toEqual([]);
    expect(old("6.18.44", fakePackage("linux-headers-6.1.0-9-common", "1", auto))).toEqual([]);
    expect(old("6.18.44", image("6.1.0-9-amd64"), image("6.1.0-10-amd64", { isUnfinished: true }))).toEqual([]);
  });

  it("are excluded where an administrator has marked or held them", () => {
    const [first, second, ...rest] = images;
    if (first === undefined || second === undefined) throw new Error("there are four");
    expect(old("6.1.0-20-amd64", { ...first, isManual: true }, { ...second, isHeld: true }, ...rest)).toEqual([]);
  });

  it("have headers and modules, also those that several kinds share", () => {
    const names = [
      "linux-headers-6.1.0-9-common",
      "linux-modules-extra-6.1.0-9-amd64",
      "linux-headers-6.1.0-18-common",
    ];
    const others = names.map((name) => fakePackage(name, "1", auto));
    expect(old("6.1.0-20-amd64", ...images.slice(1), ...others)).toEqual([
      "linux-image-6.1.0-10-amd64",
      "linux-headers-6.1.0-9-common",
      "linux-modules-extra-6.1.0-9-amd64",
    ]);
  });

  it("does not count debug symbols as one that boots", () => {
    expect(old("6.18.44", ...images.slice(2), image("6.1.0-21-amd64-dbg"))).toEqual(["linux-image-6.1.0-21-amd64-dbg"]);
  });
});
