import { mkdir, mkdtemp, readFile, readlink, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { adoptLists, currentLists, prepareLists, stampLists } from "./lists.ts";

describe("package lists", () => {
  let places = { databases: "", lists: "" };
  let root = "";
  const write = async (databases: string, name: string, text: string, madeAt: number): Promise<void> => {
    await mkdir(join(databases, "sync"), { recursive: true });
    await writeFile(join(databases, "sync", name), text);
    await utimes(join(databases, "sync", name), madeAt, madeAt);
  };
  const refreshedAt = async (at: number): Promise<void> => {
    await stampLists(places);
    await utimes(join(places.lists, "refreshed"), at, at);
  };
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "steward-lists-"));
    places = { databases: join(root, "pacman"), lists: join(root, "own") };
  });
  afterEach(() => rm(root, { recursive: true }));

  it("are missing, then those of the host, then the service's own", async () => {
    expect(await currentLists(places)).toBeUndefined();
    await write(places.databases, "core.db", "old", 1000);
    expect(await currentLists(places)).toMatchObject({ databases: places.databases, isOwn: false });
    await prepareLists(places);
    await write(places.lists, "core.db", "new", 2000);
    expect(await currentLists(places)).toMatchObject({ isOwn: false });
    await refreshedAt(3000);
    expect(await currentLists(places)).toEqual({ databases: places.lists, isOwn: true, at: 3_000_000 });
    expect(await readlink(join(places.lists, "local"))).toBe(join(places.databases, "local"));
  });

  it("are those of the host where an administrator has fetched newer ones", async () => {
    await prepareLists(places);
    await write(places.lists, "core.db", "new", 2000);
    await refreshedAt(3000);
    await write(places.databases, "core.db", "newest", 4000);
    expect(await currentLists(places)).toMatchObject({ databases: places.databases, isOwn: false });
  });

  it("are those of the host where newer ones came in the same millisecond as the service's own", async () => {
    await prepareLists(places);
    await write(places.lists, "core.db", "new", 2000);
    await write(places.databases, "core.db", "newest", 4000);
    const { ctimeMs } = await stat(join(places.databases, "sync/core.db"));
    await refreshedAt((Math.floor(ctimeMs) + 0.5) / 1000);
    expect(await currentLists(places)).toMatchObject({ databases: places.databases, isOwn: false });
  });

  it("are copied to the host with their times, and restored", async () => {
    await write(places.databases, "core.db", "old", 1000);
    await prepareLists(places);
    await write(places.lists, "core.db", "new", 2000);
    await write(places.lists, "extra.db", "more", 2000);
    await refreshedAt(3000);
    const giveBack = await adoptLists(places);
    const core = join(places.databases, "sync/core.db");
    expect(await readFile(core, "utf8")).toBe("new");
    expect((await stat(core)).mtimeMs).toBe(2_000_000);
    expect(await currentLists(places)).toMatchObject({ isOwn: true, at: 3_000_000 });
    await giveBack();
    expect(await readFile(core, "utf8")).toBe("old");
    await expect(stat(join(places.databases, "sync/extra.db"))).rejects.toThrow("ENOENT");
    expect(await currentLists(places)).toMatchObject({ isOwn: true, at: 3_000_000 });
  });

  it("can be read by everybody, also where they were made by a process that keeps its files to itself", async () => {
    await mkdir(join(places.lists, "sync"), { recursive: true, mode: 0o700 });
    await prepareLists(places);
    const modes = await Promise.all(
      [places.lists, join(places.lists, "sync")].map(async (path) => (await stat(path)).mode & 0o777),
    );
    expect(modes).toEqual([0o755, 0o755]);
  });

  it("are not restored over lists that were fetched since", async () => {
    await write(places.databases, "core.db", "old", 1000);
    await prepareLists(places);
    await write(places.lists, "core.db", "new", 2000);
    const giveBack = await adoptLists(places);
    await write(places.databases, "core.db", "newest", 4000);
    await giveBack();
    expect(await readFile(join(places.databases, "sync/core.db"), "utf8")).toBe("newest");
  });
});
