import { describe, expect, it } from "vitest";
import type { PackageVersion, PresentPackage } from "#domain/ports/packages.ts";
import { archiveName, parseIdentity } from "./package-files.ts";
import { missingOf, parseContents, simulatedRemovals } from "./restore.ts";

const file = (name: string, version: string) => ({ name, architecture: "amd64", version, path: `/x/${name}.deb` });
const present = (name: string, version: string, state: PresentPackage["state"] = "installed"): PresentPackage => {
  return { name, architecture: "amd64", version, state, isManual: true, isHeld: false };
};

describe("package files", () => {
  it("have the names that apt gives them", () => {
    const app: PackageVersion = { name: "app", architecture: "all", version: "1:2.0~rc1+b1-3" };
    expect(archiveName(app)).toBe("app_1%3a2.0~rc1+b1-3_all.deb");
    expect(parseIdentity("Package: app\nVersion: 1:2.0~rc1+b1-3\nArchitecture: all\n")).toEqual(app);
    expect(parseIdentity("")).toEqual({ name: "", architecture: "", version: "" });
  });

  it("are read for the names of what they hold", () => {
    const text = `drwxr-xr-x root/root         0 2026-01-01 00:00 ./
-rwsr-xr-x root/root        12 2026-01-01 00:00 ./usr/bin/app
-rw-r--r-- root/root        12 2026-01-01 00:00 ./usr/share/two words
-rw-r--r-- root/root        12 2026-01-01 00:00 ./usr/share/\\303\\274 \\\\x
-rw-r--r-- root/root        12 2026-01-01 00:00 ./usr/share/ü
lrwxrwxrwx root/root         0 2026-01-01 00:00 ./usr/bin/link -> ../app
hrwxr-xr-x root/root         0 2026-01-01 00:00 ./usr/bin/same link to ./usr/bin/app
`;
    expect(parseContents(text)).toEqual([
      "/usr/bin/app",
      "/usr/share/two words",
      "/usr/share/ü \\x",
      "/usr/share/ü",
      "/usr/bin/link",
      "/usr/bin/same",
    ]);
  });

  it("are installed only where they are missing", () => {
    const target = {
      files: [file("same", "1"), file("newer", "1"), file("torn", "1"), file("gone", "1"), file("bare", "1")],
      configuration: [file("left", "1"), file("back", "1")],
      remove: [file("added", "2"), file("never", "2")],
    };
    const now = [
      present("same", "1"),
      present("newer", "2"),
      present("torn", "1", "unfinished"),
      present("bare", "1", "configuration"),
      present("left", "1", "configuration"),
      present("back", "1"),
      present("added", "2", "configuration"),
    ];
    const { install, configuration, remove } = missingOf(target, now);
    expect([install, configuration, remove].map((list) => list.map(({ name }) => name))).toEqual([
      ["newer", "torn", "gone", "bare"],
      ["back"],
      ["added"],
    ]);
  });

  it("are left to dpkg where apt would remove more than is wanted", () => {
    const text = "Remv one [1]\nPurg two:i386 [1:2]\nInst three (1)\nRemvx four\n";
    expect(simulatedRemovals(text)).toEqual(["one", "two"]);
  });
});
