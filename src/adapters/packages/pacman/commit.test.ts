import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TransactionPlan } from "#domain/ports/packages.ts";
import { TransactionFailed } from "../common/transactions.ts";
import { createCommit, telling } from "./commit.ts";
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

describe("a commit", () => {
  let root = "";
  let mark = "before";
  const write = async (databases: string, text: string, madeAt: number): Promise<void> => {
    await mkdir(join(databases, "sync"), { recursive: true });
    await writeFile(join(databases, "sync/core.db"), text);
    await utimes(join(databases, "sync/core.db"), madeAt, madeAt);
  };
  const ofHost = (): Promise<string> => readFile(join(root, "var/lib/pacman/sync/core.db"), "utf8");

  /** What pacman is told; it does what is given. */
  const committing = (given: { readonly download?: () => Promise<void>; readonly update: () => Promise<string> }) => {
    const argvs: (readonly string[])[] = [];
    const commit = createCommit({
      fullUpdate: () => Promise.resolve({ plan, rows }),
      database: () => Promise.resolve({ packages: [], partial: [], isHeld: () => false, mark }),
      listsTransact: async ({ argv }) => {
        argvs.push(argv);
        await given.download?.();
        return "";
      },
      hostTransact: async ({ argv, before }) => {
        await before?.();
        argvs.push(argv);
        return given.update();
      },
      places: pacmanPlaces(root),
    });
    return { argvs, commit: () => commit(plan, { id: "one", progress: silent }, signal) };
  };
  const fails = (): Promise<string> => Promise.reject(new TransactionFailed("no"));

  beforeEach(async () => {
    mark = "before";
    root = await mkdtemp(join(tmpdir(), "steward-commit-"));
    const places = pacmanPlaces(root);
    await write(places.databases, "old", 1000);
    await write(places.lists, "new", 2000);
    await stampLists(places);
  });
  afterEach(() => rm(root, { recursive: true }));

  it("downloads with the service's own lists, gives them to the host and names exact versions", async () => {
    const { argvs, commit } = committing({ update: async () => `seen ${await ofHost()}` });
    expect(await commit()).toEqual({ isDone: true, reason: "" });
    expect(argvs.map((argv) => argv.slice(-3))).toEqual([
      ["-Suw", "--", "core/app=2.0-1"],
      ["-Su", "--", "core/app=2.0-1"],
    ]);
    expect(argvs.map((argv) => argv.includes("--dbpath"))).toEqual([true, false]);
    expect(await ofHost()).toBe("new");
  });

  it("takes the lists back where no package was changed", async () => {
    expect(await committing({ update: fails }).commit()).toEqual({ isDone: false, reason: "no" });
    expect(await ofHost()).toBe("old");
  });

  it("leaves the lists that fit where packages were changed", async () => {
    const update = (): Promise<string> => {
      mark = "after";
      return fails();
    };
    expect(await committing({ update }).commit()).toEqual({ isDone: false, reason: "no" });
    expect(await ofHost()).toBe("new");
  });

  it("is refused, and leaves newer lists, where somebody has fetched them meanwhile", async () => {
    const download = () => write(pacmanPlaces(root).databases, "newest", 4000);
    const { argvs, commit } = committing({ download, update: () => Promise.resolve("") });
    await expect(commit()).rejects.toThrow("somebody has refreshed the package lists since it was planned");
    expect(argvs).toHaveLength(1);
    expect(await ofHost()).toBe("newest");
  });
});

describe("progress", () => {
  it("never goes back, and not beyond the end", () => {
    const steps: number[] = [];
    const tell = telling({ line: () => undefined, step: (percent) => void steps.push(percent) }, 2);
    for (const line of ["removing a...", "", "upgrading b...", "noise", "installing c...", "installing d..."])
      tell(line);
    expect(steps).toEqual([10, 55, 100, 100]);
  });
});
