import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { createWindowStore, type WindowClocks } from "#adapters/window-store/index.ts";
import type { StoredWindow, WindowStore } from "#domain/ports/access.ts";
import { createFakeWindowStore } from "../fakes/window-store.ts";

let stateDir: string;
let troubles: string[];
let open: { readonly dispose: () => void } | undefined;
let uptimeMs: number;
let nowMs: number;
let bootId: string;
const clocks: WindowClocks = { uptimeMs: () => uptimeMs, now: () => nowMs, bootId: () => bootId };
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-windows-"));
  troubles = [];
  [uptimeMs, nowMs, bootId] = [5_000, Date.parse("2026-11-23T00:00:00Z"), "b".repeat(32)];
});
afterEach(() => {
  open?.dispose();
  open = undefined;
  rmSync(stateDir, { recursive: true, force: true });
});
const pass = (ms: number): void => {
  uptimeMs += ms;
  nowMs += ms;
};
const openReal = (folder = stateDir): WindowStore => {
  open?.dispose();
  const store = createWindowStore({
    stateDir: folder,
    onTrouble: (_, aside) => void troubles.push(aside ?? "memory"),
    clocks,
  });
  open = store;
  return store;
};
const fake = createFakeWindowStore;
const one = (used: number, endsInMs: number, subject = "key"): StoredWindow => ({
  subject,
  name: "perhour",
  used,
  endsInMs,
});

describe.each([
  ["fake", () => fake({ monotonicMs: () => uptimeMs })],
  ["sqlite", () => openReal()],
] as const)("store of windows: %s", (_, make: () => WindowStore) => {
  it("has nothing at first, then what was saved last of each window, with what is left of it", () => {
    const store = make();
    expect(store.load()).toEqual([]);
    store.save([one(5, 60_000)]);
    store.save([one(9, 60_000), one(1, 1_000, "other")]);
    pass(500);
    expect(store.load()).toEqual([one(9, 59_500), one(1, 500, "other")]);
    pass(500);
    expect(store.load()).toEqual([one(9, 59_000)]);
  });
});

describe("store of windows on disk", () => {
  it("is private, and made with the first request alone", () => {
    const store = openReal();
    expect(() => statSync(join(stateDir, "limits.db"))).toThrow("ENOENT");
    store.load();
    expect(statSync(join(stateDir, "limits.db")).mode & 0o777).toBe(0o600);
  });

  it("goes by the time since the boot, whatever the clock is set to; by the clock after another boot", () => {
    openReal().save([one(7, 3_600_000)]);
    nowMs += 86_400_000;
    uptimeMs += 60_000;
    expect(openReal().load()).toEqual([one(7, 3_540_000)]);
    nowMs -= 2 * 86_400_000;
    expect(openReal().load()).toEqual([one(7, 3_540_000)]);
    nowMs += 86_400_000 + 120_000;
    [bootId, uptimeMs] = ["c".repeat(32), 10];
    expect(openReal().load()).toEqual([one(7, 3_480_000)]);
    nowMs += 3_480_000;
    expect(openReal().load()).toEqual([]);
  });

  it("has all that was saved when its process is killed", async () => {
    const module = new URL("../../src/adapters/window-store/index.ts", import.meta.url).href;
    const program = `
      const { createWindowStore } = await import(${JSON.stringify(module)});
      const store = createWindowStore({ stateDir: process.argv[1], onTrouble: (error) => { throw error; } });
      for (let used = 1; used <= 100; used += 1) store.save([{ subject: "key", name: "perhour", used, endsInMs: 3600000 }]);
      process.kill(process.pid, "SIGKILL");`;
    await exec([process.execPath, "--input-type=module", "-e", program, stateDir], { timeoutMs: 60_000 }).catch(
      () => undefined,
    );
    const store = createWindowStore({ stateDir, onTrouble: (error) => void troubles.push(error.message) });
    open = store;
    expect(store.load()).toMatchObject([{ subject: "key", used: 100 }]);
    expect(troubles).toEqual([]);
  });

  it("sets a damaged file aside, and works without a file where none can be made", () => {
    writeFileSync(join(stateDir, "limits.db"), "this is no database, and was never one");
    const store = openReal();
    store.save([one(1, 1_000)]);
    expect([store.load(), troubles]).toEqual([[one(1, 1_000)], [join(stateDir, "limits.db.damaged")]]);
    const nowhere = openReal(join(stateDir, "nowhere"));
    nowhere.save([one(2, 1_000)]);
    expect([nowhere.load(), troubles.at(-1)]).toEqual([[one(2, 1_000)], "memory"]);
  });
});
