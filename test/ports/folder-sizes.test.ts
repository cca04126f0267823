import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createFolderSizes } from "#adapters/folder-sizes/index.ts";
import type { FolderSizes } from "#domain/ports/disk-usage.ts";
import { createFakeFolderSizes, fakeMeasured } from "../fakes/folder-sizes.ts";

const { signal } = new AbortController();
const root = mkdtempSync(join(tmpdir(), "steward-sizes-"));
afterAll(() => rmSync(root, { recursive: true }));
const at = (...names: readonly string[]): string => join(root, ...names);
const odd = "line\nbreak \u001b[2J";
for (const name of ["a/deep/deeper", "b", odd]) mkdirSync(at(name), { recursive: true });
writeFileSync(at("a/deep/deeper/large"), Buffer.alloc(300_000, 1));
writeFileSync(at("b/small"), Buffer.alloc(10_000, 1));
linkSync(at("a/deep/deeper/large"), at("b/again"));
symlinkSync("/usr", at("b/link"));
writeFileSync(Buffer.concat([Buffer.from(at(odd, "x")), Buffer.from([0xff, 0xfe])]), Buffer.alloc(5_000, 1));

const sizes = createFolderSizes({ clock: systemClock });
const all = { depth: 16, limit: 1_000 };

describe.each<[string, FolderSizes]>([
  ["fake", createFakeFolderSizes([fakeMeasured(root)])],
  ["real", sizes],
])("sizes of folders: %s", (_, folders) => {
  it("are measured where there is a folder", async () => {
    expect(await folders.measure(root, all, signal)).toMatchObject({ path: root, truncated: null });
    await expect(folders.measure(at("nothing"), all, signal)).rejects.toMatchObject({ name: "NoFolder" });
  });

  it("are not for whoever has gone", async () => {
    await expect(folders.measure(root, all, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  });
});

describe("sizes of real folders", () => {
  it("are those of du, with a file of two names once", async () => {
    const found = await sizes.measure(root, all, signal);
    // The program of the host, which the test has to ask itself.
    const text = execFileSync("du", ["-x", "-0", "--block-size=1", root], { encoding: "utf8" });
    const theirs = text
      .split("\0")
      .flatMap((line) => (line === "" ? [] : [/^(\d+)\t(.*)$/s.exec(line)?.slice(1) ?? []]));
    const byPath = new Map(theirs.map(([bytes, path]) => [path, Number(bytes)]));
    expect(found.bytes).toBe(byPath.get(root));
    expect(found.largest.find(({ path }) => path === at(odd))?.bytes).toBe(byPath.get(at(odd)));
    expect(found.largest.filter(({ bytes, isFolder }) => !isFolder && bytes > 200_000)).toHaveLength(1);
    expect(found.entries).toBe(10);
    expect(found.largest.every(({ isComplete }) => isComplete)).toBe(true);
  });

  it("have as many levels and entries as are wanted", async () => {
    const top = await sizes.measure(`${root}/../${root.split("/").at(-1)}/`, { depth: 1, limit: 2 }, signal);
    expect(top.path).toBe(root);
    expect(top.largest).toHaveLength(2);
    const none = await sizes.measure(root, { depth: 0, limit: 10 }, signal);
    expect([none.largest, none.bytes]).toEqual([[], top.bytes]);
  });

  it("are none of links and files, of names that are too long, and of links in a circle", async () => {
    symlinkSync(at("circle"), at("circle"));
    for (const path of [at("b/link"), at("b/small"), at("x".repeat(256)), at("circle/x")])
      await expect(sizes.measure(path, all, signal)).rejects.toMatchObject({ name: "NoFolder" });
    rmSync(at("circle"));
  });

  it("end with the entries and the time, and say what is incomplete", async () => {
    const few = createFolderSizes({ clock: systemClock, most: { entries: 3, ms: 10_000 } });
    const found = await few.measure(root, all, signal);
    expect(found.truncated).toBe("entries");
    expect(found.entries).toBe(3);
    expect(found.largest.some(({ isComplete }) => !isComplete)).toBe(true);
    const late = createFolderSizes({ clock: systemClock, most: { entries: 1_000, ms: 0 } });
    expect(await late.measure(root, all, signal)).toMatchObject({ truncated: "time", entries: 0 });
  });

  it("are not those of a sandbox", async () => {
    const mountinfo = at("a/mountinfo");
    writeFileSync(
      mountinfo,
      `9 1 8:1 /tmp/systemd-private-0f-steward.service-x/tmp ${at("b")} rw - ext4 /dev/sda1 rw\n`,
    );
    const boxed = createFolderSizes({ clock: systemClock, mountinfo });
    expect((await boxed.measure(root, all, signal)).unreadable).toEqual({ total: 1, paths: [at("b")] });
    await expect(boxed.measure(at("b"), all, signal)).rejects.toMatchObject({ details: { missing: at("b") } });
    rmSync(mountinfo);
  });
});
