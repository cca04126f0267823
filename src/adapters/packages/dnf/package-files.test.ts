import { describe, expect, it } from "vitest";
import { type Missing, missingOf } from "../common/package-files.ts";
import { shellLines } from "./dialect4.ts";
import { parsePlan } from "./output4.ts";
import { isExactly } from "./plans.ts";

const app = { name: "app", version: "1:1.0-1", architecture: "noarch" };
const lib = { name: "lib", version: "2.0-1", architecture: "x86_64" };

const isExact = (text: string, missing: Missing): boolean => isExactly(parsePlan(text) ?? [], missing);

describe("returning to packages", () => {
  it("does what is missing and nothing else", () => {
    const target = { files: [{ ...app, path: "/srv/a.rpm" }], remove: [lib] };
    expect(missingOf(target, [app])).toEqual({ install: [], remove: [] });
    expect(missingOf(target, [{ ...app, version: "2.0-1" }, lib])).toEqual({ install: target.files, remove: [lib] });
  });

  it("leaves another version that is there beside the one to be removed", () => {
    const newer = { ...lib, version: "3.0-1" };
    expect(missingOf({ files: [], remove: [newer] }, [lib, newer])).toEqual({ install: [], remove: [newer] });
  });

  it("names files and packages so that each is one word", () => {
    expect(shellLines({ install: [{ ...app, path: "/srv/it's here.rpm" }], remove: [lib] })).toBe(
      `install '/srv/it'"'"'s here.rpm'\nremove 'lib-2.0-1.x86_64'\nrun\n`,
    );
    expect(shellLines({ install: [], remove: [] })).toBe("run\n");
  });

  it("knows what takes the place of others for their removal", () => {
    const row = " app   noarch   1:1.0-1   @commandline   6.1 k\n";
    const tableOf = (rows: string): string =>
      `==\n Package  Architecture\n==\nInstalling:\n${rows}\nTransaction Summary\n==\nInstall  1 Package\n\n`;
    const install = [{ ...app, path: "/srv/a.rpm" }];
    const replacing = tableOf(`${row}     replacing  lib.x86_64 2.0-1\n`);
    expect(isExact(replacing, { install, remove: [lib] })).toBe(true);
    expect(isExact(replacing, { install, remove: [] })).toBe(false);
    expect(isExact(tableOf(row), { install, remove: [] })).toBe(true);
    expect(isExact(tableOf(row), { install, remove: [lib] })).toBe(false);
  });
});
