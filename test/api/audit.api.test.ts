import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AuditList } from "#contract/audit.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import { recordInterrupted } from "#domain/audit/operation-ends.ts";
import type { AuditEntry } from "#domain/ports/audit.ts";
import type { OperationState } from "#domain/ports/operations.ts";
import { createFakeAuditLog } from "../fakes/audit-log.ts";
import { createFakeOperationStore } from "../fakes/operation-store.ts";
import { createFakeUnits } from "../fakes/units.ts";
import { send, startTestService, type TestRequest, type TestService } from "./harness.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});
afterEach(() => service.app.close());

const restartPath = "/api/v1/system/services/cron/restart";
const restart = (request: Partial<TestRequest> = {}) =>
  send(service, { method: "POST", path: restartPath, key: service.admin, ...request });
const list = async (query = "", key = service.admin): Promise<AuditList> =>
  (await send(service, { path: `/api/v1/audit${query}`, key })).json as AuditList;

describe("a running mutation in the audit log", () => {
  it("is noted before it is carried out, and not any more once it is recorded", async () => {
    let noted: readonly AuditEntry[] = [];
    const units = createFakeUnits([{ name: "cron.service" }]);
    const watched = await startTestService({
      units: {
        ...units,
        restart(name, signal) {
          noted = [...watched.audit.started];
          return units.restart(name, signal);
        },
      },
    });
    const ask = (path: string) => send(watched, { method: "POST", path, key: watched.admin });
    await ask(`${restartPath}?dry_run=true`);
    expect(noted).toEqual([]);
    const { headers } = await ask(restartPath);
    expect(noted).toMatchObject([
      {
        operation: "restartService",
        outcome: "failed",
        status: null,
        target: { name: "cron" },
        key_id: watched.admin.slice(4, 12),
        remote_address: "192.0.2.1",
        request_id: headers["x-request-id"],
      },
    ]);
    expect((await ask("/api/v1/system/services/none/restart")).status).toBe(404);
    expect([watched.audit.started.size, watched.audit.entries.length]).toEqual([0, 3]);
    await watched.app.close();
  });

  it("is recorded by the next process, once, where its own has ended before", async () => {
    const forgotten: string[] = [];
    const left = (requestId: string) => ({
      entry: auditEvent("restartService", startMs, {
        outcome: "failed",
        target: { name: "cron" },
        request_id: requestId,
      }),
      forget: () => void forgotten.push(requestId),
    });
    const log = createFakeAuditLog([left("recorded"), left("lost")]);
    log.record(auditEvent("restartService", startMs, { request_id: "recorded" }));
    const later = { now: () => startMs + 5000 };
    await recordInterrupted({ log, clock: later }, new AbortController().signal);
    expect(log.entries.slice(1)).toMatchObject([
      {
        time: "2026-01-01T00:00:05.000Z",
        outcome: "failed",
        status: null,
        request_id: "lost",
        target: { name: "cron", begun_at: "2026-01-01T00:00:00.000Z" },
      },
    ]);
    expect(forgotten).toEqual(["recorded", "lost"]);
  });
});

describe("GET /audit", () => {
  it("answers who did what from where, the newest first", async () => {
    const { headers } = await restart();
    await restart({ path: `${restartPath}?dry_run=true`, from: "198.51.100.7" });
    const { entries, next_cursor, unreadable } = await list();
    expect([next_cursor, unreadable]).toEqual([null, 0]);
    expect(entries).toMatchObject([{ seq: 2, dry_run: true, remote_address: "198.51.100.7" }, { seq: 1 }]);
    expect(entries[1]).toEqual({
      seq: 1,
      prev: "0".repeat(64),
      time: "2026-01-01T00:00:00.000Z",
      operation: "restartService",
      outcome: "ok",
      status: 200,
      error: null,
      method: "POST",
      path: "/api/v1/system/services/{name}/restart",
      target: { name: "cron" },
      dry_run: false,
      replayed: false,
      key_id: service.admin.slice(4, 12),
      key_name: "test",
      certificate: null,
      remote_address: "192.0.2.1",
      request_id: headers["x-request-id"],
      operation_id: null,
      client_gone: false,
      duration_ms: expect.any(Number),
      count: 1,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("is filtered by operation, key, target, outcome and time, and read on from a cursor", async () => {
    const other = service.key(["services:restart:cron.service"]);
    await restart();
    await service.clock.advance(60_000);
    await restart({ path: "/api/v1/system/services/masked/restart" });
    await restart({ key: other });
    await send(service, { method: "POST", path: "/api/v1/auth/tokens", key: other, body: {} });
    const seqs = async (query: string): Promise<readonly number[]> => (await list(query)).entries.map(({ seq }) => seq);
    expect(await seqs("")).toEqual([4, 3, 2, 1]);
    expect(await seqs("?operation=restartService")).toEqual([3, 2, 1]);
    expect(await seqs(`?key_id=${other.slice(4, 12)}`)).toEqual([4, 3]);
    expect(await seqs("?target=masked")).toEqual([2]);
    expect(await seqs("?outcome=refused")).toEqual([2]);
    expect(await seqs("?since=2026-01-01T00:01:00Z&operation=restartService")).toEqual([3, 2]);
    expect(await seqs("?until=2026-01-01T00:01:00Z")).toEqual([1]);
    const first = await list("?limit=3");
    expect(first.entries.map(({ seq }) => seq)).toEqual([4, 3, 2]);
    expect(await seqs(`?limit=3&cursor=${first.next_cursor}`)).toEqual([1]);
  });

  it("refuses malformed cursors and filters", async () => {
    for (const query of ["cursor=x", "cursor=1-99", "outcome=good", "until=now"])
      expect([query, (await send(service, { path: `/api/v1/audit?${query}`, key: service.admin })).status]).toEqual([
        query,
        400,
      ]);
  });
});

describe("the audit log", () => {
  const kinds = (): readonly (readonly [string, string | null, number])[] =>
    service.audit.entries.map(({ operation, error, count }) => [operation, error, count] as const);

  it("has every mutation of a key, however it ended", async () => {
    await restart({ key: service.key([]) });
    await restart({ path: `${restartPath}?dryrun=true` });
    await restart({ path: "/api/v1/system/services/absent/restart" });
    service.units.available = false;
    await restart();
    await restart({ text: "{" });
    expect(kinds()).toEqual([
      ["restartService", "FORBIDDEN", 1],
      ["restartService", "VALIDATION_ERROR", 1],
      ["restartService", "NOT_FOUND", 1],
      ["restartService", "UNAVAILABLE", 1],
      ["restartService", "VALIDATION_ERROR", 1],
    ]);
    expect(service.audit.entries.map(({ outcome }) => outcome)).toEqual([
      "refused",
      "refused",
      "refused",
      "failed",
      "refused",
    ]);
  });

  it("says that an answer was that of an earlier request", async () => {
    const headers = { "Idempotency-Key": "once" };
    await restart({ headers });
    await restart({ headers });
    expect(service.audit.entries).toMatchObject([{ replayed: false }, { replayed: true, target: { name: "cron" } }]);
    expect(service.units.actions).toHaveLength(1);
  });

  it("has no reads, nor reads with a wrong parameter", async () => {
    for (const path of [
      "/api/v1/health",
      "/api/v1/system/logs",
      "/api/v1/system/logs?limit=x",
      "/api/v1/health/checks/none",
      "/livez",
      "/metrics",
      "/api/v1/docs",
    ])
      await send(service, { path, key: service.admin });
    await service.clock.advance(3_600_000);
    expect(kinds()).toEqual([]);
  });

  it("is every way to be refused, with its reason", async () => {
    const { admin } = service;
    const narrow = service.key([]);
    await send(service, { path: "/api/v1/health", from: "192.0.2.10" });
    await send(service, { path: "/api/v1/auth/keys", key: narrow });
    await send(service, { path: "/api/v1/health", key: admin, headers: { host: "evil.example" }, from: "192.0.2.11" });
    await send(service, {
      path: "/api/v1/health",
      key: admin,
      headers: { origin: "http://evil.example" },
      from: "192.0.2.11",
    });
    await send(service, { path: "/nowhere", key: admin });
    await send(service, { path: "/%", key: admin });
    await send(service, {
      path: "/api/v1/ws/logs",
      from: "192.0.2.12",
      headers: { connection: "upgrade", upgrade: "websocket" },
    });
    await restart({ key: "wrong", from: "192.0.2.13" });
    expect(service.audit.entries).toMatchObject([
      {
        operation: "getHealth",
        error: "UNAUTHORIZED",
        remote_address: "192.0.2.10",
        key_id: null,
        outcome: "refused",
        status: 401,
      },
      { operation: "listKeys", error: "FORBIDDEN", key_id: narrow.slice(4, 12), key_name: "test" },
      { operation: "getHealth", error: "FORBIDDEN", target: { field: "Host" }, key_id: null },
      { operation: "getHealth", error: "FORBIDDEN", target: { field: "Origin" }, key_id: null },
      { operation: "calls.refused", error: "NOT_FOUND", path: null, key_id: admin.slice(4, 12) },
      { operation: "calls.refused", error: "VALIDATION_ERROR", path: null },
      { operation: "calls.refused", error: "UNAUTHORIZED", path: "/api/v1/ws/logs", remote_address: "192.0.2.12" },
      { operation: "restartService", error: "UNAUTHORIZED", remote_address: "192.0.2.13", target: { name: "cron" } },
    ]);
  });

  it("has a refused login once, and then counts", async () => {
    for (let at = 0; at < 50; at += 1) await send(service, { path: "/api/v1/health", key: "wrong" });
    expect(kinds()).toEqual([["getHealth", "UNAUTHORIZED", 1]]);
    await service.clock.advance(60_000);
    expect(service.audit.entries.at(-1)).toMatchObject({
      operation: "calls.refused",
      error: "UNAUTHORIZED",
      remote_address: "192.0.2.1",
      count: 49,
      target: { since: "2026-01-01T00:00:00.000Z", until: "2026-01-01T00:00:00.000Z" },
    });
    // Somebody who does not stop has a longer window each time.
    for (let minute = 0; minute < 120; minute += 1) {
      await send(service, { path: "/api/v1/health", key: "wrong" });
      await service.clock.advance(60_000);
    }
    expect(kinds().length).toBeLessThan(10);
    // A window without any ends it: the next one is news again.
    await service.clock.advance(4 * 3_600_000);
    const before = kinds().length;
    await send(service, { path: "/api/v1/health", key: "wrong" });
    expect(kinds().slice(before)).toEqual([["getHealth", "UNAUTHORIZED", 1]]);
    expect(kinds().reduce((sum, [, , count]) => sum + count, 0)).toBe(171);
  });

  it("has no more entries of a flood than a budget, and still the number", async () => {
    for (let at = 0; at < 3000; at += 1)
      await send(service, { path: "/api/v1/health", from: `10.${at >> 8}.${at & 255}.1` });
    expect(kinds()).toHaveLength(100);
    await service.clock.advance(60_000);
    expect(service.audit.entries.at(-1)).toMatchObject({
      count: 2900,
      remote_address: null,
      target: { callers: "many" },
    });
    expect(kinds()).toHaveLength(101);
  });

  it("names the address that the counted calls came from, anyone who else has used the key", async () => {
    const stolen = service.key([]);
    const ask = (from: string) => send(service, { path: "/api/v1/auth/keys", key: stolen, from });
    await ask("10.0.0.5");
    for (let at = 0; at < 40; at += 1) await ask("203.0.113.9");
    await service.clock.advance(60_000);
    const by = { error: "FORBIDDEN", key_id: stolen.slice(4, 12) };
    expect(service.audit.entries).toMatchObject([
      { ...by, operation: "listKeys", remote_address: "10.0.0.5", count: 1 },
      { ...by, operation: "listKeys", remote_address: "203.0.113.9", count: 1 },
      { ...by, operation: "calls.refused", remote_address: "203.0.113.9", count: 39 },
    ]);
  });

  it("names nothing in which the counted calls differ", async () => {
    const ask = (from: string, check: string) => send(service, { path: `/api/v1/health/checks/${check}`, from });
    const counted = () => service.audit.entries.at(-1);
    // The first has an entry of its own, and is not among those that are counted.
    await ask("2001:db8::1", "memory");
    await ask("2001:db8::2", "memory");
    await ask("2001:db8::2", "memory");
    await service.clock.advance(60_000);
    expect(counted()).toMatchObject({ count: 2, remote_address: "2001:db8::2", target: { check_id: "memory" } });
    await ask("2001:db8::2", "memory");
    await ask("2001:db8::3", "cpu");
    await ask("2001:db8::2", "memory");
    await service.clock.advance(120_000);
    expect(counted()).toMatchObject({ count: 3, error: "UNAUTHORIZED", remote_address: null });
    expect(Object.keys(counted()?.target ?? {})).toEqual(["since", "until"]);
    await ask("2001:db8::4", "memory");
    await service.clock.advance(240_000);
    expect(counted()).toMatchObject({ count: 1, remote_address: "2001:db8::4" });
  });

  it("has no more entries of one key from everywhere than the budget, and still names the key", async () => {
    const stolen = service.key([]);
    for (let at = 0; at < 300; at += 1)
      await send(service, { path: "/api/v1/auth/keys", key: stolen, from: `10.${at >> 8}.${at & 255}.1` });
    await service.clock.advance(60_000);
    expect(kinds()).toHaveLength(101);
    expect(service.audit.entries.at(-1)).toMatchObject({
      count: 200,
      key_id: stolen.slice(4, 12),
      remote_address: null,
      target: { callers: "many" },
    });
  });

  it("has the counts when the service stops", async () => {
    const other = await startTestService();
    for (let at = 0; at < 3; at += 1) await send(other, { path: "/api/v1/health" });
    await other.app.close();
    expect(other.audit.entries.map(({ count }) => count)).toEqual([1, 2]);
  });
});

describe("the end of an operation", () => {
  const ended: OperationState = {
    status: "failed",
    percent: 50,
    step: "apply",
    startedAt: Date.parse("2025-12-31T23:00:00Z"),
    finishedAt: Date.parse("2025-12-31T23:00:05Z"),
    phase: null,
    result: null,
    error: { code: "UNAVAILABLE", message: "cannot" },
  };

  it("is written down by the next service, once, when it came while there was none", async () => {
    const operationStore = createFakeOperationStore();
    const audit = createFakeAuditLog();
    const spec = {
      kind: "updates.apply",
      input: {},
      createdAt: Date.parse("2025-12-31T23:00:00Z"),
      keyId: "somebody",
      idempotencyKey: null,
    };
    for (const id of ["operation-a", "operation-b"]) {
      operationStore.create({ ...spec, id });
      operationStore.write(id, ended);
    }
    audit.record(auditEvent("operation.ended", 0, { operation_id: "operation-a" }));
    for (let starts = 0; starts < 2; starts += 1) {
      const next = await startTestService({ operationStore, audit });
      await expect.poll(() => audit.entries.length).toBe(2);
      await next.app.close();
    }
    expect(audit.entries).toHaveLength(2);
    expect(audit.entries.at(-1)).toMatchObject({
      operation: "operation.ended",
      operation_id: "operation-b",
      key_id: "somebody",
      outcome: "failed",
      error: "UNAVAILABLE",
      duration_ms: 5000,
      target: { kind: "updates.apply", ended_at: "2025-12-31T23:00:05.000Z" },
    });
  });
});
