import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openRingStore, ringFile } from "#adapters/ring-store/index.ts";
import { directoryPerTest } from "./support/directories.ts";

describe("the store of rings", () => {
  const dir = directoryPerTest();
  const open = (stateDir = dir()) => {
    const reported: string[] = [];
    const note = (what: string) => (error: unknown) => void reported.push(`${what}: ${(error as Error).message}`);
    return { reported, ...openRingStore({ stateDir, onUnreadable: note("unreadable"), onUnsaved: note("unsaved") }) };
  };
  const rings = [{ stepMs: 10, length: 2, newest: 8, values: Float32Array.of(1.5, Number.NaN) }];

  it("gives the next process what was saved last, in one file", () => {
    expect(open().load()).toBeUndefined();
    const store = open();
    store.save([]);
    store.save(rings);
    expect([open().load(), readdirSync(dir()), store.reported]).toEqual([rings, [ringFile], []]);
  });

  it("starts over where the file is damaged, foreign, or leads elsewhere, and says so", () => {
    const path = dir(ringFile);
    open().save(rings);
    const whole = readFileSync(path);
    for (const [content, reason] of [
      [whole.subarray(0, -1), "it is damaged"],
      [Buffer.alloc(0), "it is not a file of metrics"],
      [Buffer.alloc(2 * 1024 * 1024), "it is larger than 1024 KiB"],
    ] as const) {
      writeFileSync(path, content);
      const store = open();
      expect([store.load(), store.reported]).toEqual([undefined, [`unreadable: ${reason}`]]);
    }
    rmSync(path);
    writeFileSync(dir("elsewhere"), whole);
    symlinkSync("elsewhere", path);
    const store = open();
    expect([store.load(), store.reported.length]).toEqual([undefined, 1]);
    store.save(rings);
    expect([open().load(), store.reported.length]).toEqual([rings, 1]);
  });

  it("reports the first of several saves that fail", () => {
    const store = open(dir("later"));
    store.save(rings);
    store.save(rings);
    expect(store.reported).toEqual([expect.stringContaining("unsaved: ENOENT")]);
    mkdirSync(dir("later"));
    store.save(rings);
    rmSync(dir("later"), { recursive: true });
    store.save(rings);
    expect(store.reported).toHaveLength(2);
  });
});
