import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listsAt } from "./offers.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "steward-lists-test-"));
  mkdirSync(join(folder, "lists"));
});

afterEach(() => rmSync(folder, { recursive: true }));

describe("the age of the lists", () => {
  const at = () => listsAt({ lists: join(folder, "lists"), refreshStamp: join(folder, "stamp") });
  const list = (name: string): string => join(folder, "lists", name);
  /** The kernel sets the time of a change; no program does. */
  const touch = async (name: string): Promise<number> => {
    await sleep(20);
    writeFileSync(list(name), "");
    return statSync(list(name)).ctimeMs;
  };

  it("is none where there are no lists", async () => {
    mkdirSync(list("partial"));
    mkdirSync(list("auxfiles"));
    await touch("lock");
    expect(await at()).toBe(undefined);
    rmSync(list("."), { recursive: true });
    expect(await at()).toBe(undefined);
  });

  it("is that of the source that was left alone for longest", async () => {
    const first = await touch("one.example_dists_stable_InRelease");
    const second = await touch("two.example_._Release");
    await touch("three.example_dists_stable-security_InRelease");
    await touch("one.example_dists_stable_main_binary-amd64_Packages");
    expect(await at()).toBe(first);
    await touch("one.example_dists_stable_InRelease");
    expect(await at()).toBe(second);
  });

  it("counts no folder and no disk, of which nothing is fetched", async () => {
    await touch("_srv_packages_._Release");
    await touch("Debian%20GNU_Linux%2012_dists_bookworm_Release");
    symlinkSync("/srv/packages/Release", list("_srv_other_._InRelease"));
    const fetched = await touch("one.example_dists_stable_InRelease");
    expect(await at()).toBe(fetched);
  });

  it("is that of the folder where no source has a server", async () => {
    await touch("_srv_packages_._Release");
    utimesSync(list("."), 1_000, 1_000);
    expect(await at()).toBe(1_000_000);
  });

  it("is no older than the last refresh that succeeded wholly", async () => {
    await touch("one.example_dists_stable_InRelease");
    writeFileSync(join(folder, "stamp"), "");
    utimesSync(join(folder, "stamp"), 4_000_000_000, 4_000_000_000);
    expect(await at()).toBe(4_000_000_000_000);
  });
});
