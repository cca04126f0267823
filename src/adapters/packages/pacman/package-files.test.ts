import { expect, it } from "vitest";
import { marksFor } from "./package-files.ts";

const found = (name: string, isManual: boolean) =>
  ({ name, version: "1.0-1", architecture: "any", isManual, isHeld: false, installedBytes: 0, groups: [] }) as const;

it("pacman's marks are changed only where they differ", () => {
  const packages = [found("app", true), found("library", false), found("steady", true)];
  expect(marksFor(packages, { packages })).toEqual([]);
  const wanted = [found("app", false), found("library", true), found("steady", true), found("gone", true)];
  expect(marksFor(wanted, { packages })).toEqual([
    { option: "--asexplicit", names: ["library"] },
    { option: "--asdeps", names: ["app"] },
  ]);
});
