import { mkdtempSync, readFileSync, rmSync, statSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openAuditLog } from "#adapters/audit/index.ts";
import type { AuditEntry, AuditLog } from "#domain/access/ports.ts";
import { createFakeAuditLog } from "../fakes/audit-log.ts";

const entry = (operation: string): AuditEntry => ({
  time: "2026-01-01T00:00:00.000Z",
  request_id: "r-1",
  operation,
  key_id: null,
  remote_address: "192.0.2.1",
  target: { name: 'odd\n"name"' },
  dry_run: false,
  status: 200,
  client_gone: false,
  duration_ms: 1,
});

function openReal(): {
  log: AuditLog;
  path: string;
  check: () => string | undefined;
  entries: () => readonly unknown[];
} {
  const stateDir = mkdtempSync(join(tmpdir(), "steward-audit-"));
  const path = join(stateDir, "audit.log");
  const log = openAuditLog({ stateDir });
  process.once("exit", () => rmSync(stateDir, { recursive: true, force: true }));
  const entries = () =>
    readFileSync(path, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown);
  return { log, path, check: log.check, entries };
}

function openFake() {
  const log = createFakeAuditLog();
  return { log, entries: () => log.entries };
}

describe.each([
  ["fake", openFake],
  ["file", openReal],
] as const)("audit log: %s", (_, open: () => { log: AuditLog; entries: () => readonly unknown[] }) => {
  it("keeps every entry in order", () => {
    const { log, entries } = open();
    log.record(entry("one"));
    log.record(entry("two"));
    expect(entries()).toEqual([entry("one"), entry("two")]);
  });
});

describe("audit log on disk", () => {
  it("is private and appends to what is there", () => {
    const { log, path, check } = openReal();
    log.record(entry("one"));
    openAuditLog({ stateDir: join(path, "..") }).record(entry("two"));
    expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(2);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(check()).toBeUndefined();
  });

  it("tells when it was deleted", () => {
    const { path, check } = openReal();
    unlinkSync(path);
    expect(check()).toMatch(/was deleted while it is in use/);
  });
});
