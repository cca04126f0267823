import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PackageChange, TransactionPlan } from "#domain/ports/packages.ts";
import { requestOf } from "./change.ts";
import { createCommit, reporter } from "./commit.ts";
import { pacmanPlaces } from "./host.ts";
import { stampLists } from "./lists.ts";

const plan: TransactionPlan = {
  changes: [{ name: "app", architecture: "any", from: "1.0-1", to: "2.0-1", isSecurity: false }],
  downloadBytes: 1,
  diskBytes: 1,
};
const rows = [{ repository: "core", name: "app", version: "2.0-1", downloadBytes: 1 }];
const silent = { step: () => undefined, line: () => undefined };
const signal = AbortSignal.timeout(60_000);

describe("a commit of pacman", () => {
  let root = "";
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "steward-commit-"));
  });
  afterEach(() => rm(root, { recursive: true }));

  it("is refused, and leaves newer lists, where an administrator has fetched them meanwhile", async () => {
    const places = pacmanPlaces(root);
    const list = (databases: string) => join(databases, "sync/core.db");
    const write = async (databases: string, text: string, madeAt: number): Promise<void> => {
      await mkdir(join(databases, "sync"), { recursive: true });
      await writeFile(list(databases), text);
      await utimes(list(databases), madeAt, madeAt);
    };
    await write(places.databases, "old", 1000);
    await write(places.lists, "new", 2000);
    await stampLists(places);
    const commit = createCommit({
      fullUpdate: () => Promise.resolve({ plan, rows }),
      planChange: () => Promise.reject(new Error("it is an update")),
      database: () => Promise.resolve({ packages: [], partial: [], isHeld: () => false, mark: "" }),
      async listsTransact() {
        await write(places.databases, "newest", 4000);
        return "";
      },
      async hostTransact({ before }) {
        await before?.();
        throw new Error("packages were changed");
      },
      places,
    });
    await expect(commit(plan, { id: "one", progress: silent }, signal)).rejects.toThrow(
      "somebody has refreshed the package lists since it was planned",
    );
    expect(await readFile(list(places.databases), "utf8")).toBe("newest");
  });
});

describe("progress of pacman", () => {
  it("never decreases, and ends at 100 percent", () => {
    const steps: number[] = [];
    const report = reporter({ line: () => undefined, step: (percent) => void steps.push(percent) }, 2);
    for (const line of ["removing a...", "", "upgrading b...", "noise", "installing c...", "installing d..."])
      report(line);
    expect(steps).toEqual([10, 55, 100, 100]);
  });
});

describe("a change of packages", () => {
  const step = (name: string, from: string | null, to: string | null, more: Partial<PackageChange> = {}) => {
    return { name, architecture: "any", from, to, isSecurity: false, ...more };
  };
  const planOf = (changes: readonly PackageChange[]) => ({ changes, downloadBytes: 0, diskBytes: 0 });

  it("is distinguished from an update by its plan", () => {
    const coming = [step("library", null, "1-1"), step("app", null, "1-1", { isRequested: true })];
    expect(requestOf(planOf(coming))).toEqual({ change: "install", names: ["app"] });
    const going = [step("library", "1-1", null), step("app", "1-1", null)];
    expect(requestOf(planOf(going))).toEqual({ change: "remove", names: ["library", "app"] });
    expect(requestOf({ ...planOf(going), isPurge: true })).toEqual({ change: "purge", names: ["library", "app"] });
    // One that takes the place of another.
    expect(requestOf(planOf([step("successor", null, "2-1"), step("replaced", "1-1", null)]))).toBeUndefined();
    expect(requestOf(planOf([step("app", "1-1", "2-1")]))).toBeUndefined();
  });
});
