import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exec } from "#adapters/exec/index.ts";
import { openExpendable } from "#adapters/sqlite/index.ts";
import { openTokenLedger, type SqliteTokenLedger } from "#adapters/token-ledger/index.ts";
import type { TokenLedger } from "#domain/ports/connectors.ts";
import { createFakeTokenLedger } from "../fakes/token-ledger.ts";

let stateDir: string;
let open: SqliteTokenLedger | undefined;
let troubles: (string | undefined)[];
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "steward-ledger-"));
  troubles = [];
});
afterEach(() => {
  open?.dispose();
  open = undefined;
  rmSync(stateDir, { recursive: true, force: true });
});
const openReal = (folder = stateDir): SqliteTokenLedger => {
  open?.dispose();
  open = openTokenLedger({ stateDir: folder, onTrouble: (_, aside) => void troubles.push(aside ?? "memory") });
  return open;
};
const file = (): string => join(stateDir, "tokens.db");

describe.each([
  ["fake", createFakeTokenLedger],
  ["sqlite", openReal],
] as const)("token ledger: %s", (_, make: () => TokenLedger) => {
  it("starts at nothing", () => {
    expect(make().used("key", "2026-11-22")).toBe(0);
  });

  it("adds up for each key and day", () => {
    const ledger = make();
    for (const tokens of [5, 0, 37]) ledger.add("key", "2026-11-22", tokens);
    ledger.add("key", "2026-11-23", 7);
    ledger.add("other", "2026-11-22", 1);
    const used = (keyId: string, day: string): number => ledger.used(keyId, day);
    expect([used("key", "2026-11-22"), used("key", "2026-11-23"), used("other", "2026-11-22")]).toEqual([42, 7, 1]);
    expect(used("other", "2026-11-23")).toBe(0);
  });

  it("takes figures beyond 32 bits", () => {
    const ledger = make();
    for (let count = 0; count < 3; count += 1) ledger.add("key", "2026-11-22", 2 ** 40);
    expect(ledger.used("key", "2026-11-22")).toBe(3 * 2 ** 40);
  });

  it("forgets days before a day, and not that day", () => {
    const ledger = make();
    for (const day of ["2025-12-31", "2026-01-01", "2026-01-02"]) ledger.add("key", day, 3);
    ledger.forget("2026-01-01");
    expect(["2025-12-31", "2026-01-01", "2026-01-02"].map((day) => ledger.used("key", day))).toEqual([0, 3, 3]);
  });
});

describe("token ledger on disk", () => {
  it("is private, and there again when it is opened again", () => {
    openReal().add("key", "2026-11-22", 9);
    for (const path of [file(), `${file()}-wal`]) expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(openReal().used("key", "2026-11-22")).toBe(9);
    expect(troubles).toEqual([]);
  });

  it("has all that was added when its process is killed", async () => {
    const module = new URL("../../src/adapters/token-ledger/index.ts", import.meta.url).href;
    const program = `
      const { openTokenLedger } = await import(${JSON.stringify(module)});
      const ledger = openTokenLedger({ stateDir: process.argv[1], onTrouble: (error) => { throw error; } });
      for (let count = 0; count < 100; count += 1) ledger.add("key", "2026-11-22", 3);
      process.kill(process.pid, "SIGKILL");`;
    await exec([process.execPath, "--input-type=module", "-e", program, stateDir], { timeoutMs: 60_000 }).catch(
      () => undefined,
    );
    expect(openReal().used("key", "2026-11-22")).toBe(300);
    expect(troubles).toEqual([]);
  });

  it("moves a damaged file aside and starts again", () => {
    writeFileSync(file(), "this is no database, and was never one");
    openReal().add("key", "2026-11-22", 1);
    expect(troubles).toEqual([`${file()}.damaged`]);
    expect(readFileSync(`${file()}.damaged`, "latin1")).toContain("never one");
    expect(openReal().used("key", "2026-11-22")).toBe(1);
  });

  it("goes on in memory when damage shows and the file cannot be put aside", () => {
    const ledger = openReal();
    for (let at = 0; at < 20_000; at += 1) ledger.add(`key-${at}`, "2026-11-22", 1);
    open?.dispose();
    open = undefined;
    const bytes = readFileSync(file());
    // All but the first pages: the file opens, and then does not hold what it says.
    bytes.fill(0xa5, 2 * 4096);
    const folder = join(stateDir, "state");
    mkdirSync(folder);
    writeFileSync(join(folder, "tokens.db"), bytes);
    const schema = "CREATE TABLE used (key_id TEXT);";
    const statements = { count: "SELECT count(*) AS n FROM used" };
    const kept = openExpendable(
      { file: "tokens.db", version: 1, schema, check: "SELECT 1", statements },
      { stateDir: folder, onTrouble: (_, aside) => void troubles.push(aside ?? "memory") },
    );
    renameSync(folder, join(stateDir, "elsewhere"));
    const count = () => kept.use((prepared) => prepared.count.get()?.["n"]);
    expect([count(), count()]).toEqual([0, 0]);
    expect(troubles).toEqual(["memory"]);
    kept.dispose();
  });

  it("works without a file where none can be made", () => {
    const ledger = openReal(join(stateDir, "nowhere"));
    ledger.add("key", "2026-11-22", 1);
    expect(ledger.used("key", "2026-11-22")).toBe(1);
    expect(troubles).toEqual(["memory"]);
  });
});
