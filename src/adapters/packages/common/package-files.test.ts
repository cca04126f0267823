import { describe, expect, it } from "vitest";
import { marksFor } from "./package-files.ts";

describe("marks", () => {
  it("are set where they are otherwise", () => {
    const app = { name: "app", version: "1:1.0-1", architecture: "noarch" };
    const lib = { name: "lib", version: "2.0-1", architecture: "x86_64" };
    const marked = { ...app, isManual: true, isHeld: false };
    const wanted = [marked, { ...lib, isManual: false, isHeld: false }];
    expect(marksFor(wanted, wanted)).toEqual([]);
    const present = wanted.map((each) => ({ ...each, isManual: !each.isManual }));
    expect(marksFor(wanted, present)).toEqual([
      { isManual: true, names: ["app-1:1.0-1.noarch"] },
      { isManual: false, names: ["lib-2.0-1.x86_64"] },
    ]);
  });

  it("are set by other words, and not of what is gone", () => {
    const found = (name: string, isManual: boolean) =>
      ({ name, version: "1.0-1", architecture: "any", isManual, isHeld: false }) as const;
    const packages = [found("app", true), found("library", false), found("steady", true)];
    const wanted = [found("app", false), found("library", true), found("steady", true), found("gone", true)];
    expect(marksFor(wanted, packages, ({ name }) => name)).toEqual([
      { isManual: true, names: ["library"] },
      { isManual: false, names: ["app"] },
    ]);
  });
});
