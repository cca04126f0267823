import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { parseFound, parsePatches, parseUpdates } from "#adapters/packages/zypper/lists.ts";
import { describeCases } from "./cases.ts";

/** Tables for people: the same is asked for as XML, whose fields have names. */
const unread = ["list-updates-text-0.txt", "list-updates-text-1.txt"];

describeCases("zypper", ({ path, text }) => {
  it("every file is one of those below", () => {
    const known = ["README.md", "list-updates-sles12.xml", "search-patches-sles12.xml", ...unread];
    expect(readdirSync(path("")).toSorted()).toEqual(known.toSorted());
  });

  it("list-updates-sles12.xml: two packages to update, of which an old zypper does not say what is installed", () => {
    expect(parseUpdates(text("list-updates-sles12.xml"))).toEqual([
      { name: "SUSEConnect", version: "0.2.33-7.1", architecture: "x86_64" },
      { name: "bind-libs", version: "9.9.6P1-35.1", architecture: "x86_64" },
    ]);
    expect(parsePatches(text("list-updates-sles12.xml"))).toEqual([]);
  });

  it("search-patches-sles12.xml: a patch is neither a package nor, where it is only found, needed", () => {
    expect(parseFound(text("search-patches-sles12.xml"))).toEqual([]);
    expect(parseUpdates(text("search-patches-sles12.xml"))).toEqual([]);
    expect(parsePatches(text("search-patches-sles12.xml"))).toEqual([]);
  });

  it.each(unread)("%s: a table is not taken for XML", (file) => {
    expect(parseUpdates(text(file))).toEqual([]);
  });
});
