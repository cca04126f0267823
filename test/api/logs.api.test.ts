import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogList } from "#contract/logs.ts";
import { errorWith, send, startTestService, type TestReply, type TestRequest, type TestService } from "./harness.ts";

const second = 1_000_000;
const hour = 3600 * second;
const lastBoot = "d".repeat(32);

let service: TestService;
let now: number;
let cursors: readonly string[];
beforeEach(async () => {
  service = await startTestService();
  now = service.clock.now() * 1000;
  cursors = [
    { message: "long ago", time: now - 2 * hour },
    { message: "nginx is up", unit: "nginx.service", identifier: "nginx", time: now - hour },
    { message: "out of memory", unit: "kernel", priority: 3, identifier: "kernel", pid: null },
    { message: "app one", unit: "app-1.service", priority: 4 },
    { message: "app two <script>", unit: "app-2.service", priority: 7 },
    { message: "Übersicht\nzwei Zeilen", unit: "", priority: null, bootId: lastBoot },
  ].map(service.journal.write);
});
afterEach(() => service.app.close());

const path = (query: Readonly<Record<string, string | number>> = {}): string => {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString();
  return `/api/v1/system/logs${text === "" ? "" : `?${text}`}`;
};
const get = (query: Readonly<Record<string, string | number>> = {}, request: Partial<TestRequest> = {}) =>
  send(service, { path: path(query), key: service.admin, ...request });
const listOf = ({ json }: TestReply): LogList => json as LogList;
const messages = (reply: TestReply): readonly string[] => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
  return listOf(reply).logs.map(({ message }) => message);
};
const ofTheLastHour = ["nginx is up", "out of memory", "app one", "app two <script>", "Übersicht\nzwei Zeilen"];

describe("GET /system/logs", () => {
  it("answers with the last hour, oldest first", async () => {
    const reply = await get();
    expect(messages(reply)).toEqual(ofTheLastHour);
    expect(listOf(reply)).toMatchObject({ total: 5, next_cursor: cursors[5] });
    expect(listOf(reply).logs[1]).toEqual({
      timestamp: "2025-12-31T23:00:01.000000Z",
      unit: "kernel",
      priority: 3,
      message: "out of memory",
      cursor: cursors[2],
      identifier: "kernel",
      pid: null,
      hostname: "testhost",
      boot_id: "b".repeat(32),
    });
  });

  it("gives one entry by its cursor, a very long message in parts", async () => {
    const message = "x".repeat(9 * 2 ** 20);
    const cursor = service.journal.write({ message, unit: "nginx.service", time: now + 99 * hour });
    const [first] = listOf(await get({ entry: cursor })).logs;
    expect(first).toMatchObject({ cursor, truncated: true, next_offset: 8 * 2 ** 20 });
    const rest = listOf(await get({ entry: cursor, offset: first?.next_offset ?? 0 }));
    expect([rest.total, rest.logs[0]?.message.length, rest.logs[0]?.truncated]).toEqual([1, 2 ** 20, undefined]);
    expect(listOf(await get({ entry: cursor, unit: "app-1" }))).toMatchObject({ logs: [], total: 0 });
  });

  it("takes several units, of which a narrowed key must have each", async () => {
    const narrowed = service.key(["logs:read:app-*", "logs:read:nginx.service"]);
    const several = "/api/v1/system/logs?units=nginx&units=app-1";
    expect(messages(await send(service, { path: several, key: narrowed }))).toEqual(["nginx is up", "app one"]);
    expect(messages(await get({ unit: "kernel", units: "app-2" }))).toEqual(["out of memory", "app two <script>"]);
    const refused = await send(service, { path: `${several}&units=kernel`, key: narrowed });
    expect([refused.status, refused.json]).toMatchObject([
      403,
      { error: { details: { required_scope: "logs:read:kernel" } } },
    ]);
    const bad = await send(service, { path: "/api/v1/system/logs?units=a&units=%2F..", key: service.admin });
    expect(bad.status).toBe(400);
  });

  it("has entries of the namespaces that are asked for; of all where units are named, or one entry is", async () => {
    const cursor = service.journal.write({ message: "in tenant", unit: "app-1.service", namespace: "tenant" });
    service.journal.write({ message: "in other", unit: "app-2.service", namespace: "other" });
    expect(messages(await get())).toEqual(ofTheLastHour);
    expect(messages(await get({ namespace: "tenant" }))).toEqual(["in tenant"]);
    expect(messages(await get({ namespace: "+tenant" }))).toEqual([...ofTheLastHour, "in tenant"]);
    expect(messages(await get({ namespace: "*" }))).toEqual([...ofTheLastHour, "in tenant", "in other"]);
    expect(messages(await get({ unit: "app-1" }))).toEqual(["app one", "in tenant"]);
    expect(messages(await get({ unit: "app-1", namespace: "" }))).toEqual(["app one"]);
    expect(messages(await get({ entry: cursor }))).toEqual(["in tenant"]);
    const context = await send(service, {
      path: `/api/v1/system/logs/context?cursor=${encodeURIComponent(cursor)}&before=0&after=1`,
      key: service.admin,
    });
    expect(context.json).toMatchObject({ index: 0, entries: [{ message: "in tenant" }, { message: "in other" }] });
    const narrowed = service.key(["logs:read:app-1.service"]);
    for (const query of [{}, { namespace: "*" }, { namespace: "+other" }, { namespace: "other" }, { unit: "app-1" }]) {
      const found = messages(await get(query, { key: narrowed }));
      expect(found.filter((message) => message !== "app one" && message !== "in tenant")).toEqual([]);
    }
    for (const namespace of ["a/b", "**", "+", "a b", "a".repeat(223)])
      expect([namespace, (await get({ namespace })).status]).toEqual([namespace, 400]);
  });

  it("gives raw fields, and begins with the oldest", async () => {
    const [entry] = listOf(await get({ fields: "MESSAGE,PRIORITY", from: "oldest", limit: 1 })).logs;
    expect(entry).toMatchObject({
      message: "nginx is up",
      fields: [
        { name: "PRIORITY", text: "6" },
        { name: "MESSAGE", text: "nginx is up" },
      ],
    });
    expect(listOf(await get({ limit: 1 })).logs[0]).not.toHaveProperty("fields");
    expect((await get({ fields: "lower" })).json).toMatchObject({ error: { details: { field: "fields" } } });
  });

  it("shows to a narrowed key boots, fields and values of its units alone, and no sizes", async () => {
    const key = service.key(["logs:read:kernel"]);
    const of = async (part: string, by: string) =>
      (await send(service, { path: `/api/v1/system/logs/${part}`, key: by })).json;
    expect(await of("boots", service.admin)).toMatchObject({ boots: [{ index: -1 }, { index: 0, boot_id: lastBoot }] });
    expect(await of("boots", key)).toMatchObject({ boots: [{ index: -1, first: "2025-12-31T23:00:01.000000Z" }] });
    expect(await of("fields/_SYSTEMD_UNIT", key)).toMatchObject({
      ...{ values: [{ text: "kernel" }], truncated: false, total: 1 },
    });
    expect(await of("fields", key)).toMatchObject({ names: expect.not.arrayContaining(["_PID"]) });
    expect((await send(service, { path: "/api/v1/system/logs/usage", key })).status).toBe(403);
    expect(await of("usage", service.admin)).toMatchObject({ disk_bytes: 0, memory_bytes: 0, files: 3 });
  });

  it("sends the bytes of the journal as they are, with their length", async () => {
    const reply = await get();
    expect(reply.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "content-length": String(Buffer.byteLength(reply.text)),
      "cache-control": "no-store",
    });
    const head = await get({}, { method: "HEAD" });
    expect([head.status, head.text, head.headers["content-length"]]).toEqual([
      200,
      "",
      reply.headers["content-length"],
    ]);
  });

  it("asks for 1000 entries by default, and takes 1 to 10000", async () => {
    await get();
    expect((await get({ limit: 10_000 })).status).toBe(200);
    const reply = await get({ limit: 2 });
    expect(messages(reply)).toEqual(ofTheLastHour.slice(-2));
    expect(listOf(reply).total).toBe(5);
    expect(service.journal.queries.map(({ limit }) => limit)).toEqual([1000, 10_000, 2]);
  });

  it.each<[Readonly<Record<string, string | number>>, readonly string[]]>([
    [{ unit: "nginx" }, ["nginx is up"]],
    [{ unit: "app-[12].s*" }, ["app one", "app two <script>"]],
    [{ unit: "kernel" }, ["out of memory"]],
    [{ unit: "*" }, ["nginx is up", "app one", "app two <script>"]],
    [{ priority: 4 }, ["out of memory", "app one"]],
    [{ identifier: "nginx" }, ["nginx is up"]],
    [{ grep: "app (one|two)" }, ["app one", "app two <script>"]],
    [{ grep: "ÜBERSICHT|Zeilen" }, ["Übersicht\nzwei Zeilen"]],
    [{ since: "2025-12-31T22:00:00Z" }, ["long ago", ...ofTheLastHour]],
    [{ since: "2026-01-01T00:00:01+01:00", until: "2025-12-31T23:00:02z" }, ["out of memory", "app one"]],
    [{ since: "2025-12-31T23:00:01.000000Z", until: "2025-12-31T23:00:01.000000Z" }, ["out of memory"]],
    [{ since: "2025-12-31T23:00:01.0000001Z", until: "2025-12-31T23:00:01.9999999Z" }, []],
    [{ boot: "0" }, ["Übersicht\nzwei Zeilen"]],
    [{ boot: "1" }, ["long ago", ...ofTheLastHour.slice(0, -1)]],
    [{ boot: "-1", priority: 3 }, ["out of memory"]],
    [{ order: "desc", limit: 2 }, ["Übersicht\nzwei Zeilen", "app two <script>"]],
    [{ unit: "app-*", priority: 4, grep: "one" }, ["app one"]],
  ])("finds with %j the matching entries", async (query, expected) => {
    expect(messages(await get(query))).toEqual(expected);
  });

  it.each(["asc", "desc"])("continues from its next_cursor to the end, %s", async (order) => {
    let cursor = order === "asc" ? (cursors[0] ?? "") : (cursors[5] ?? "");
    const seen: string[] = [];
    for (let page = await get({ order, cursor, limit: 2 }); ; page = await get({ order, cursor, limit: 2 })) {
      const found = messages(page);
      if (found.length === 0) break;
      seen.push(...found);
      const { next_cursor: next } = listOf(page);
      if (next === null) break;
      cursor = next;
    }
    expect(seen).toEqual(order === "asc" ? ofTheLastHour : ["long ago", ...ofTheLastHour.slice(0, -1)].reverse());
  });

  it("answers with an empty list where nothing matches", async () => {
    expect((await get({ since: "2025-01-01T00:00:00Z", until: "2025-01-02T00:00:00Z" })).json).toEqual({
      logs: [],
      total: 0,
      next_cursor: null,
    });
  });

  const cursor = `s=${"a".repeat(32)};i=1;b=${"b".repeat(32)};m=1;t=1;x=1`;
  it("takes the parts of a cursor in any order", async () => {
    expect((await get({ cursor: cursor.split(";").reverse().join(";") })).status).toBe(200);
  });

  it.each<[Readonly<Record<string, string | number>>, string, string]>([
    [{ since: "2026-01-01T00:00:00Z", until: "2025-01-01T00:00:00Z" }, "since", "Must not be later than until"],
    [{ until: "2025-01-01T00:00:00Z" }, "since", "Must be given: its default, one hour ago, is later than until"],
    [{ since: "yesterday" }, "since", "Must be an RFC 3339 time such as 2026-01-31T12:00:00Z"],
    [{ priority: 8 }, "priority", "Must be at most 7"],
    [{ priority: "err" }, "priority", "Must be an integer"],
    [{ limit: 0 }, "limit", "Must be at least 1"],
    [{ limit: 10_001 }, "limit", "Must be at most 10000"],
    [{ order: "up" }, "order", "Must be one of asc, desc"],
    [{ unit: "" }, "unit", expect.any(String)],
    [{ unit: "a/b" }, "unit", "Must be the name of a unit or a pattern of names"],
    [{ unit: "/mnt/../etc" }, "unit", "Must be a path that a unit can be named for"],
    [{ boot: "x" }, "boot", "Must be a boot id of 32 hex digits or an offset such as 0 or -1"],
    [{ grep: "(" }, "grep", "Must be a regular expression: unterminated group"],
    [{ cursor: "" }, "cursor", "Must be the cursor of a log entry"],
    [{ entry: "x" }, "entry", "Must be the cursor of a log entry"],
    [{ offset: 1 }, "offset", "Must be given together with entry"],
    [{ cursor: cursor.replace(";x=1", "") }, "cursor", "Must be the cursor of a log entry"],
  ])("refuses %j", async (query, field, issue) => {
    const reply = await get(query);
    expect(reply.json).toMatchObject(errorWith("VALIDATION_ERROR", { field, issue }));
    expect([reply.status, service.journal.queries]).toEqual([400, []]);
  });

  const hostile = ["$(touch x)", "`touch x`", "a;touch x", "a\ntouch x", "'a'", '"a"', "a\0b", "--help", "-x", "a|b"];
  it.each(hostile)("refuses %j wherever it could be more than text", async (text) => {
    for (const field of ["unit", "since", "until", "boot", "cursor", "order", "priority", "limit"]) {
      const reply = await get({ [field]: text });
      expect([field, reply.status, reply.json]).toMatchObject([field, 400, { error: { details: { field } } }]);
    }
    expect(service.journal.queries).toEqual([]);
  });

  it.each(hostile)("takes %j as text in a message or an identifier", async (text) => {
    const literal = text.replaceAll(/[$()|]/g, "\\$&");
    service.journal.write({ message: `said ${text}`, identifier: text, time: now });
    expect(messages(await get({ grep: literal }))).toEqual([`said ${text}`]);
    expect(messages(await get({ identifier: text }))).toEqual([`said ${text}`]);
  });

  it("refuses what the journal refuses, in its words", async () => {
    service.journal.refusal = { field: "grep", issue: "Takes too long" };
    const reply = await get({ grep: "(a+)+$" });
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject(errorWith("VALIDATION_ERROR", { field: "grep", issue: "Takes too long" }));
  });

  it("is 503 where the journal cannot be read", async () => {
    service.journal.available = false;
    const reply = await get();
    expect(reply.status).toBe(503);
    expect(reply.json).toMatchObject({
      error: {
        code: "UNAVAILABLE",
        message: "cannot read the journal: permission denied",
        details: { missing: "journal", retryable: true },
      },
    });
  });
});

describe("a key narrowed to units", () => {
  const as = (scopes: readonly string[], query: Readonly<Record<string, string>> = {}) =>
    get(query, { key: service.key(scopes) });

  it("sees the entries of its units and nothing else", async () => {
    expect(messages(await as(["logs:read:app-*"]))).toEqual(["app one", "app two <script>"]);
    expect(messages(await as(["logs:read:app-*", "logs:read:nginx"]))).toEqual([
      "nginx is up",
      "app one",
      "app two <script>",
    ]);
    expect(messages(await as(["logs:read:kernel"]))).toEqual(["out of memory"]);
    expect(messages(await as(["logs:read:*"]))).toEqual(["nginx is up", "app one", "app two <script>"]);
    expect(messages(await as(["logs:read:app-*", "logs:read"]))).toEqual(ofTheLastHour);
    const reply = await as(["logs:read:app-*"]);
    expect(listOf(reply).total).toBe(2);
  });

  it("may ask for its units", async () => {
    expect(messages(await as(["logs:read:app-*"], { unit: "app-1" }))).toEqual(["app one"]);
    expect(messages(await as(["logs:read:app-*"], { unit: "app-[2-9]*" }))).toEqual(["app two <script>"]);
    expect(messages(await as(["logs:read:nginx"], { unit: "nginx" }))).toEqual(["nginx is up"]);
  });

  it.each([
    ["logs:read:app-*", "nginx", "logs:read:nginx.service"],
    ["logs:read:app-*", "*", "logs:read:*"],
    ["logs:read:app-*", "[a-n]*", "logs:read:[a-n]*"],
    ["logs:read:*", "kernel", "logs:read:kernel"],
    ["logs:read:nginx.service", "nginx.*", "logs:read:nginx.*"],
  ])("with %s may not ask for %s", async (scope, unit, required) => {
    const reply = await as([scope], { unit });
    expect(reply.status).toBe(403);
    expect(reply.json).toMatchObject(errorWith("FORBIDDEN", { required_scope: required, granted: [scope] }));
    expect(service.journal.queries).toEqual([]);
  });
});
