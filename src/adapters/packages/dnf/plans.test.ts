import { describe, expect, it } from "vitest";
import type { InstalledRpm, TableRow } from "./dialect.ts";
import { changesOf } from "./plans.ts";

const installed = (name: string, version: string, reason = "user"): InstalledRpm => ({
  name,
  version,
  architecture: "noarch",
  reason,
  bytes: 1,
});
const row = (kind: TableRow["kind"], name: string, version: string, replaces: readonly string[] = []): TableRow => ({
  kind,
  name,
  architecture: "noarch",
  version,
  repository: "base",
  replaces,
});

describe("changes", () => {
  it("are one for a new kernel and the one that it replaces", () => {
    const present = [installed("kernel", "1-1"), installed("kernel", "2-1")];
    expect(changesOf([row("install", "kernel", "3-1"), row("remove", "kernel", "1-1")], present)).toEqual([
      { name: "kernel", architecture: "noarch", from: "1-1", to: "3-1" },
    ]);
    expect(changesOf([row("install", "kernel", "3-1")], present)).toEqual([
      { name: "kernel", architecture: "noarch", from: null, to: "3-1" },
    ]);
  });

  it("are one for each removed version", () => {
    const present = [installed("kernel", "1-1"), installed("kernel", "2-1")];
    const rows = [row("remove", "kernel", "1-1"), row("remove", "kernel", "2-1")];
    const gone = ["1-1", "2-1"].map((from) => ({ name: "kernel", architecture: "noarch", from, to: null }));
    expect(changesOf(rows, present)).toEqual(gone);
    expect(changesOf([row("install", "kernel", "3-1"), ...rows], present)).toEqual([
      { name: "kernel", architecture: "noarch", from: "1-1", to: "3-1" },
      ...gone.slice(1),
    ]);
  });

  it("have what is replaced as removed, once", () => {
    const rows = [row("install", "new", "2-1", ["old-1-1.noarch"]), row("upgrade", "app", "2-1", ["old-1-1.noarch"])];
    expect(changesOf(rows, [installed("app", "1-1"), installed("old", "1-1")])).toEqual([
      { name: "new", architecture: "noarch", from: null, to: "2-1" },
      { name: "app", architecture: "noarch", from: "1-1", to: "2-1" },
      { name: "old", architecture: "noarch", from: "1-1", to: null },
    ]);
  });
});
