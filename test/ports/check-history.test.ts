import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openCheckHistory, type SqliteCheckHistory } from "#adapters/check-history/index.ts";
import { exec } from "#adapters/exec/index.ts";
import type { CheckHistory, StoredRun, StoredState } from "#domain/ports/check-history.ts";
import { createFakeCheckHistory } from "../fakes/check-history.ts";

const run = (checkedAt: number, changes: Partial<StoredRun> = {}): StoredRun => ({
  checkedAt,
  status: "pass",
  message: `run at ${checkedAt} "ü"`,
  durationMs: 3,
  ...changes,
});
const state = (changes: Partial<StoredState> = {}): StoredState => ({
  status: "pass",
  since: 1,
  consecutiveFailures: 0,
  ...changes,
});

let stateDir: string;
let open: SqliteCheckHistory | undefined;
let troubles: (string | undefined)[];
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-checks-"));
  troubles = [];
});
afterEach(() => {
  open?.dispose();
  open = undefined;
  rmSync(stateDir, { recursive: true, force: true });
});
const openReal = (): SqliteCheckHistory => {
  open?.dispose();
  open = openCheckHistory({ stateDir, onTrouble: (_, aside) => void troubles.push(aside) });
  return open;
};
const file = (): string => join(stateDir, "checks.db");

describe.each([
  ["fake", createFakeCheckHistory],
  ["sqlite", openReal],
] as const)("check history: %s", (_, make: () => CheckHistory) => {
  it("starts empty", () => {
    const history = make();
    expect(history.state("disk_space")).toBeUndefined();
    expect(history.runs("disk_space", 0, 10)).toEqual({ runs: [], total: 0 });
  });

  it("gives the newest runs since a time, oldest first, and counts all of them", () => {
    const history = make();
    for (const at of [50, 10, 30, 20, 40]) history.record("disk_space", run(at), state());
    history.record("memory", run(35), state());
    expect(history.runs("disk_space", 20, 2)).toEqual({ runs: [run(40), run(50)], total: 4 });
    expect(history.runs("disk_space", 0, 100).runs).toEqual([10, 20, 30, 40, 50].map((at) => run(at)));
    expect(history.runs("memory", 0, 100)).toEqual({ runs: [run(35)], total: 1 });
  });

  it("keeps two runs of one moment apart, in their order", () => {
    const history = make();
    const runs = [run(5, { message: "first" }), run(5, { message: "second", status: "fail" })];
    for (const each of runs) history.record("memory", each, state());
    expect(history.runs("memory", 0, 10)).toEqual({ runs, total: 2 });
  });

  it("keeps the last state of each check", () => {
    const history = make();
    history.record("memory", run(1), state());
    history.record("memory", run(2), state({ status: "fail", since: 2, consecutiveFailures: 7 }));
    history.record("swap_usage", run(2), state({ status: "skip" }));
    expect(history.state("memory")).toEqual({ status: "fail", since: 2, consecutiveFailures: 7 });
    expect(history.state("swap_usage")).toEqual(state({ status: "skip" }));
  });

  it("forgets runs before a moment, and no state", () => {
    const history = make();
    for (const at of [10, 20, 30]) history.record("memory", run(at), state());
    history.forget(20);
    expect(history.runs("memory", 0, 10)).toEqual({ runs: [run(20), run(30)], total: 2 });
    expect(history.state("memory")).toEqual(state());
  });
});

describe("check history on disk", () => {
  it("is private, and there again when it is opened again", () => {
    openReal().record("memory", run(1), state({ consecutiveFailures: 2 }));
    for (const path of [file(), `${file()}-wal`]) expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = openReal();
    expect([again.state("memory"), again.runs("memory", 0, 10).total]).toEqual([state({ consecutiveFailures: 2 }), 1]);
    expect(troubles).toEqual([]);
  });

  it("has all that was recorded when its process is killed", async () => {
    const module = new URL("../../src/adapters/check-history/index.ts", import.meta.url).href;
    const program = `
      const { openCheckHistory } = await import(${JSON.stringify(module)});
      const history = openCheckHistory({ stateDir: process.argv[1], onTrouble: (error) => { throw error; } });
      for (let at = 1; at <= 200; at += 1)
        history.record("memory", { checkedAt: at, status: "fail", message: "m", durationMs: 1 },
          { status: "fail", since: 1, consecutiveFailures: at });
      process.kill(process.pid, "SIGKILL");`;
    await exec([process.execPath, "--input-type=module", "-e", program, stateDir], { timeoutMs: 60_000 }).catch(
      () => undefined,
    );
    const history = openReal();
    expect(history.runs("memory", 0, 1).total).toBe(200);
    expect(history.state("memory")).toEqual({ status: "fail", since: 1, consecutiveFailures: 200 });
    expect(troubles).toEqual([]);
  });

  it.each([
    ["text", "this is no database, and was never one"],
    ["a cut off header", "SQLite format 3\0"],
    ["noise behind the header", `SQLite format 3\0${"\x7f".repeat(8000)}`],
  ])("moves a damaged file aside and starts again: %s", (_, content) => {
    writeFileSync(file(), content);
    const history = openReal();
    expect(troubles).toEqual([`${file()}.damaged`]);
    expect(readFileSync(`${file()}.damaged`, "latin1")).toBe(content);
    history.record("memory", run(1), state());
    expect(openReal().state("memory")).toEqual(state());
  });

  it("sets aside what is of another version, or is no file of its own", () => {
    const foreign = new DatabaseSync(file());
    foreign.exec("PRAGMA user_version = 99");
    foreign.close();
    openReal().record("memory", run(1), state());
    open?.dispose();
    open = undefined;
    rmSync(file());
    symlinkSync("/etc/hostname", file());
    openReal().record("memory", run(1), state());
    expect(troubles).toEqual([`${file()}.damaged`, `${file()}.damaged`]);
    expect(readFileSync("/etc/hostname", "utf8")).not.toContain("SQLite");
  });

  it("meets damage that shows while it runs in the same way", () => {
    const history = openReal();
    for (let at = 0; at < 2000; at += 1) history.record("memory", run(at, { message: "x".repeat(500) }), state());
    open?.dispose();
    open = undefined;
    const bytes = readFileSync(file());
    // All but the first pages, which hold the schema and the first rows.
    bytes.fill(0xa5, 5 * 4096);
    writeFileSync(file(), bytes);
    const damaged = openReal();
    for (let at = 0; at < 50; at += 1) damaged.record("memory", run(9000 + at), state());
    expect(damaged.runs("memory", 0, 10_000).runs.at(-1)).toEqual(run(9049));
    expect(troubles).toEqual([`${file()}.damaged`]);
  });

  it("works without a file where none can be made", () => {
    open = openCheckHistory({
      stateDir: join(stateDir, "nowhere"),
      onTrouble: (_, aside) => void troubles.push(aside ?? "memory"),
    });
    open.record("memory", run(1), state());
    expect(open.runs("memory", 0, 1).total).toBe(1);
    expect(troubles).toEqual(["memory"]);
  });
});
