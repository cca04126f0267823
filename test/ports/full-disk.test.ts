import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openAuditLog, verifyAudit } from "#adapters/audit/index.ts";
import { openCheckHistory } from "#adapters/check-history/index.ts";
import { createMemoryReader, type TemplateMemory, writeMemory } from "#adapters/journald/templates/memory.ts";
import { openKeyStore } from "#adapters/keystore/index.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { createRunHistory } from "#domain/health/history/history.ts";
import { createFakeClock } from "../fakes/clock.ts";

/** A disk of 256 KiB that can be filled without harm to anybody. */
const disk = mkdtempSync(join(tmpdir(), "steward-disk-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]);
const isMounted = mounted.status === 0;
if (!isMounted) process.stdout.write(`skipped: full disk: cannot mount a tmpfs (${String(mounted.stderr).trim()})\n`);
if (!isMounted && process.env["CI"] === "true") throw new Error("cannot mount a tmpfs, and in CI nothing is skipped");
afterAll(() => {
  if (isMounted) spawnSync("umount", [disk]);
  rmdirSync(disk);
});

const filler = join(disk, "filler");
const fill = (): void => {
  try {
    writeFileSync(filler, Buffer.alloc(1024 * 1024));
  } catch {
    // Full is what it was meant to become.
  }
};

describe.skipIf(!isMounted)("on a full disk,", () => {
  beforeAll(() => rmSync(filler, { force: true }));

  it("the history of checks can be read, is not taken for damaged, and continues when there is space again", () => {
    const troubles: Error[] = [];
    const store = openCheckHistory({ stateDir: disk, onTrouble: (error) => void troubles.push(error) });
    const history = createRunHistory(store);
    const record = (at: number): void => {
      const status = at % 2 === 0 ? "fail" : "warn";
      const run = { checkedAt: at, status, message: "m".repeat(1000), durationMs: 1 } as const;
      history.record("memory", run, { status, since: at, consecutiveFailures: 0 });
    };
    record(1);
    history.flush(1);
    fill();
    let last = 1;
    const many = () => {
      while (last < 500) {
        last += 1;
        record(last);
      }
    };
    expect(many).toThrow(/full/);
    expect(history.state("memory")).toMatchObject({ since: last });
    expect(history.runs("memory", 0, 10_000).total).toBe(last);
    expect(history.transitions("memory", 0, 10_000).total).toBe(last);
    rmSync(filler);
    record(last + 1);
    expect(store.transitions("memory")).toHaveLength(last + 1);
    expect(troubles).toEqual([]);
    store.dispose();
    for (const ending of ["", "-wal", "-shm"]) rmSync(join(disk, `check-history.db${ending}`), { force: true });
  });

  it("the history of checks opens beside runs of an earlier version, whose states it cannot take", () => {
    const troubles: Error[] = [];
    const options = { stateDir: disk, onTrouble: (error: Error) => void troubles.push(error) };
    openCheckHistory(options).dispose();
    const old = new DatabaseSync(join(disk, "checks.db"));
    old.exec(`
      CREATE TABLE runs (check_id TEXT, checked_at INTEGER, status TEXT, message TEXT, duration_ms INTEGER);
      CREATE TABLE states (check_id TEXT PRIMARY KEY, status TEXT, since INTEGER, consecutive_failures INTEGER);
      PRAGMA user_version = 1;
      INSERT INTO states WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        SELECT 'check-' || i, 'pass', 1, 0 FROM n;`);
    old.close();
    fill();
    const store = openCheckHistory(options);
    expect(store.state("check-1")).toBeUndefined();
    expect(troubles.map(String)).toEqual([expect.stringMatching(/full/)]);
    store.dispose();
    rmSync(filler);
    for (const file of ["checks.db", "check-history.db"])
      for (const ending of ["", "-wal", "-shm"]) rmSync(join(disk, `${file}${ending}`), { force: true });
  });

  it("the key store refuses, says so, keeps what it has, and continues when there is space again [state-survives]", () => {
    const store = openKeyStore({ stateDir: disk });
    const none = { scopes: [], expiresAt: null, lastUsedAt: null, revokedAt: null, clientCert: null };
    const key = { name: "n".repeat(100), digest: "00", createdAt: 1, ...none };
    store.insertKey({ ...key, id: "first" });
    fill();
    const many = () => {
      for (let made = 0; made < 500; made += 1) store.insertKey({ ...key, id: `key-${made}` });
    };
    expect(many).toThrow(/full/);
    const kept = store.keys().length;
    expect(() => store.touchKeys(new Map(store.keys().map(({ id }) => [id, 5])))).toThrow(/full/);
    expect(store.check()).toMatch(/cannot be written: .*full/);
    rmSync(filler);
    expect(store.check()).not.toMatch(/cannot be written/);
    store.insertKey({ ...key, id: "last" });
    expect(store.keys()).toHaveLength(kept + 1);
    store.dispose();
  });

  it("the table of templates stays as it was, and continues when there is space again", () => {
    const path = join(disk, "log-templates.json");
    const faults: unknown[] = [];
    const reader = createMemoryReader(path, (fault) => void faults.push(fault));
    const memoryOf = (count: number): TemplateMemory => ({
      templates: Array.from({ length: count }, (_, at) => ({
        ...{ unit: "a.service", identifier: "a", origin: "", text: `words ${"abcdefghij"[at % 10]} of ${at}` },
        ...{ first: 1, last: 2 + at, firstError: null },
      })),
      files: { "1": count },
      knownSince: 1,
    });
    writeMemory(path, memoryOf(3));
    fill();
    expect(() => writeMemory(path, memoryOf(2000))).toThrow("ENOSPC");
    expect(readdirSync(disk).filter((name) => name.startsWith("log-templates"))).toEqual(["log-templates.json"]);
    expect([reader().templates.length, faults]).toEqual([3, []]);
    rmSync(filler);
    writeMemory(path, memoryOf(1000));
    expect([reader().templates.length, faults]).toEqual([1000, []]);
    rmSync(path);
  });

  it("the audit log says so, keeps what it cannot write, and writes it when there is space, in an unbroken chain", async () => {
    const troubles: unknown[] = [];
    const log = openAuditLog({
      stateDir: disk,
      clock: createFakeClock(),
      onTrouble: (error) => void troubles.push(error),
      onRepaired: (faults) => expect(faults).toEqual([]),
      onRotated: () => undefined,
    });
    const record = (operation: string, length: number): void =>
      log.record({ ...auditEvent(operation, 0), target: { name: "n".repeat(length) } });
    record("before", 1);
    fill();
    // Of different lengths, so that some are cut off in the middle and some have no space at all.
    for (let written = 0; written < 100; written += 1) record("restartService", written * 7);
    expect(log.check()).toMatch(/cannot be written: /);
    expect(troubles.length).toBeGreaterThan(50);
    expect((await verifyAudit(log.directory, [])).broken).toBeUndefined();
    rmSync(filler);
    expect(log.check()).toBeUndefined();
    record("after", 1);
    const { broken, notes, last } = await verifyAudit(log.directory, []);
    expect([broken, last]).toEqual([undefined, log.head()]);
    expect(notes.length).toBeLessThan(2);
    const query = {
      since: undefined,
      until: undefined,
      keyId: undefined,
      target: undefined,
      outcome: undefined,
      cursor: undefined,
    };
    const wanted = { ...query, operation: "restartService", limit: 1000 };
    const { entries, unreadable } = await log.list(wanted, new AbortController().signal);
    // None was lost: those without space were kept and written when there was some.
    expect(entries.length).toBe(100);
    expect(unreadable).toBe(notes.length);
    log.dispose();
  });
});
