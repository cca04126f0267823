import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogContext, LogFacets, LogHistogram, LogTemplates } from "#contract/log-exploration.ts";
import type { LogList } from "#contract/logs.ts";
import { send, startTestService, type TestService } from "./harness.ts";

const second = 1_000_000;
const minute = 60 * second;

let service: TestService;
let cursors: readonly string[];
beforeEach(async () => {
  service = await startTestService();
  const now = service.clock.now() * 1000;
  cursors = [
    { message: "long ago", time: now - 120 * minute, bootId: "a".repeat(32) },
    { message: "nginx is up", unit: "nginx.service", identifier: "nginx", time: now - 50 * minute },
    { message: "nginx fails", unit: "nginx.service", identifier: "nginx", priority: 3, time: now - 10 * minute },
    { message: "app one", unit: "app-1.service", priority: 4, time: now - 9 * minute },
    { message: "no severity", unit: "app-1.service", priority: null, time: now - 9 * minute + second },
  ].map(service.journal.write);
});
afterEach(() => service.app.close());

async function get<T>(path: string, key = service.admin): Promise<T> {
  const reply = await send(service, { path: `/api/v1/system/logs/${path}`, key });
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
  return reply.json as T;
}

describe("GET /system/logs/histogram", () => {
  it("counts the last hour over time and by severity, entries without one in the total alone", async () => {
    const answer = await get<LogHistogram>("histogram");
    expect(answer.total).toBe(4);
    expect(answer.buckets.filter(({ total }) => total > 0)).toMatchObject([
      { total: 1, priorities: { "6": 1 } },
      { total: 1, priorities: { "3": 1 } },
      { total: 2, priorities: { "4": 1 } },
    ]);
    expect(answer.buckets.length).toBeLessThanOrEqual(60);
    expect([answer.since, answer.until]).toEqual(["2025-12-31T23:00:00.000000Z", "2026-01-01T00:00:00.000999Z"]);
  });

  it("takes the filters of a query, and spans a boot where one is named", async () => {
    const of = async (query: string): Promise<number> => (await get<LogHistogram>(`histogram?${query}`)).total;
    expect(await of("unit=nginx")).toBe(2);
    expect(await of("unit=nginx&priority=3")).toBe(1);
    expect(await of("grep=fails|one")).toBe(2);
    expect(await of("identifier=nginx&since=2025-12-31T23:30:00Z")).toBe(1);
    const whole = await get<LogHistogram>("histogram?boot=-1&buckets=10");
    expect(whole).toMatchObject({ total: 1, since: "2025-12-31T22:00:00.000000Z" });
    expect(whole.until).toBe(whole.since);
    expect(await get("histogram?boot=-1&since=2025-12-31T22:30:00Z")).toMatchObject({ total: 0 });
  });
});

describe("GET /system/logs/facets", () => {
  it("counts values, the most frequent ones first, with the number of distinct ones", async () => {
    const answer = await get<LogFacets>("facets?fields=unit,priority,unit&limit=1");
    expect(answer).toEqual({
      facets: { unit: [{ value: "nginx.service", count: 2 }], priority: [{ value: "6", count: 1 }] },
      distinct: { unit: 2, priority: 3 },
      total: 4,
    });
    expect(Object.keys((await get<LogFacets>("facets")).facets)).toHaveLength(6);
  });
});

describe("GET /system/logs/context", () => {
  it("gives an entry and those around it, at any time", async () => {
    const around = await get<LogContext>(`context?cursor=${encodeURIComponent(cursors[2] ?? "")}&before=1&after=5`);
    expect(around.entries.map(({ message }) => message)).toEqual([
      "nginx is up",
      "nginx fails",
      "app one",
      "no severity",
    ]);
    expect(around.index).toBe(1);
    const alone = await get<LogContext>(`context?cursor=${encodeURIComponent(cursors[0] ?? "")}&before=0&after=0`);
    expect([alone.entries.length, alone.index]).toEqual([1, 0]);
  });
});

describe("a narrowed key exploring logs", () => {
  it("counts and sees the entries of its units alone", async () => {
    const key = service.key(["logs:read:app-*"]);
    expect((await get<LogHistogram>("histogram", key)).total).toBe(2);
    const { facets } = await get<LogFacets>("facets?fields=unit,identifier", key);
    expect(facets.unit).toEqual([{ value: "app-1.service", count: 2 }]);
    expect(facets.identifier).toEqual([{ value: "app", count: 2 }]);
    const around = await get<LogContext>(`context?cursor=${encodeURIComponent(cursors[3] ?? "")}`, key);
    expect(around.entries.map(({ message }) => message)).toEqual(["app one", "no severity"]);
    const foreign = `/api/v1/system/logs/context?cursor=${encodeURIComponent(cursors[2] ?? "")}`;
    expect((await send(service, { path: foreign, key })).status).toBe(404);
    const refused = await send(service, { path: "/api/v1/system/logs/histogram?unit=nginx", key });
    expect(refused.status).toBe(403);
  });
});

describe("GET /system/logs/templates", () => {
  it("groups entries by the constant part of their messages", async () => {
    const now = service.clock.now() * 1000;
    for (const number of [1, 2, 3])
      service.journal.write({ message: `took ${number} ms`, unit: "app-1.service", priority: 4, time: now - number });
    const answer = await get<LogTemplates>("templates");
    expect(answer.templates[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      unit: "app-1.service",
      identifier: expect.any(String),
      origin: "",
      text: "took <*> ms",
      priority: 4,
      count: 3,
      first: expect.any(String),
      last: expect.any(String),
      cursor: expect.any(String),
    });
    expect(answer).toMatchObject({ total: 7, other: 0, distinct: 5 });
    expect(answer.templates.reduce((sum, { count }) => sum + count, answer.other)).toBe(answer.total);
    expect((await get<LogTemplates>("templates?limit=1")).templates).toHaveLength(1);
    expect(await get<LogTemplates>("templates?unit=nginx&priority=3")).toMatchObject({
      total: 1,
      templates: [{ text: "nginx fails", priority: 3 }],
    });
  });

  it("compares with a time before: new, same and gone", async () => {
    const at = (micros: number): string => new Date(micros / 1000).toISOString();
    const now = service.clock.now() * 1000;
    service.journal.write({ message: "nginx is up", unit: "nginx.service", identifier: "nginx", time: now - minute });
    const timestamp = at(now - 30 * minute);
    const answer = await get<LogTemplates>(`templates?compare=${timestamp}`);
    expect(answer.compared_at).toBe("2025-12-31T23:30:00.000000Z");
    expect(answer.templates.map(({ text, status, before, count }) => [text, status, before, count])).toEqual([
      ["nginx fails", "new", 0, 1],
      ["app one", "new", 0, 1],
      ["no severity", "new", 0, 1],
      ["long ago", "gone", 1, 0],
      ["nginx is up", "same", 1, 1],
    ]);
    expect((await get<LogTemplates>(`templates?compare=${timestamp}&status=gone`)).templates).toMatchObject([
      { text: "long ago", first: "2025-12-31T22:00:00.000000Z", last: "2025-12-31T22:00:00.000000Z" },
    ]);
    const boot = await get<LogTemplates>("templates?compare=boot&status=new");
    expect(boot.compared_at).toBe("2025-12-31T23:10:00.000000Z");
    expect(boot.templates.map(({ text }) => text)).not.toContain("long ago");
  });

  const statusesOf = ({ templates }: LogTemplates) =>
    templates.map(({ text, status, before, count }) => [text, status, before, count]);

  it("compares with the time before a snapshot, which takes its scope", async () => {
    const snapshot = await send(service, {
      method: "POST",
      path: "/api/v1/updates/snapshots",
      key: service.admin,
      body: {},
    });
    const { id } = snapshot.json as { id: string };
    const path = `/api/v1/system/logs/templates?compare=snapshot:${id}`;
    service.journal.write({ message: "rolled", time: service.clock.now() * 1000 + second });
    await service.clock.advance(minute / 1000);
    const answer = await get<LogTemplates>(`templates?compare=snapshot:${id}&status=new`);
    expect(statusesOf(answer)).toEqual([["rolled", "new", 0, 1]]);
    expect(answer.compared_at).toBe(`${id.replace(/(....)(..)(..)-(..)(..)(..)/, "$1-$2-$3T$4:$5:$6")}.000000Z`);
    const missing = { path: path.replace(id, "20200101-000000"), key: service.admin };
    expect(await send(service, missing)).toMatchObject({ status: 404, json: { error: { code: "NOT_FOUND" } } });
    expect(await send(service, { path, key: service.key(["logs:read"]) })).toMatchObject({
      status: 403,
      json: { error: { details: { required_scope: "updates:read" } } },
    });
  });

  it("compares two boots, and two windows", async () => {
    const now = service.clock.now() * 1000;
    service.journal.write({
      message: "nginx is up",
      bootId: "a".repeat(32),
      unit: "nginx.service",
      identifier: "nginx",
      time: now,
    });
    const boots = [
      ["nginx fails", "new", 0, 1],
      ["app one", "new", 0, 1],
      ["no severity", "new", 0, 1],
      ["long ago", "gone", 1, 0],
      ["nginx is up", "same", 1, 1],
    ];
    for (const boot of ["-1", "a".repeat(32)]) {
      const answer = await get<LogTemplates>(`templates?compare=boot:${boot}`);
      expect([statusesOf(answer), answer.total]).toEqual([boots, 6]);
      expect(answer).not.toHaveProperty("compared_at");
    }
    expect(
      await send(service, { path: "/api/v1/system/logs/templates?compare=boot:-7", key: service.admin }),
    ).toMatchObject({ status: 404 });
    const at = (minutes: number): string => new Date((now - minutes * minute) / 1000).toISOString();
    const windows = await get<LogTemplates>(`templates?since=${at(11)}&until=${at(8)}&compare=${at(130)}/${at(10)}`);
    expect(statusesOf(windows)).toEqual([
      ["app one", "new", 0, 1],
      ["no severity", "new", 0, 1],
      ["long ago", "gone", 1, 0],
      ["nginx is up", "gone", 1, 0],
      ["nginx fails", "same", 1, 1],
    ]);
  });

  it("refuses a malformed time, and is 404 without an earlier boot", async () => {
    const ask = (query: string) =>
      send(service, { path: `/api/v1/system/logs/templates?${query}`, key: service.admin });
    const times = [
      "2026-01-02T00:00:00Z/2026-01-01T00:00:00Z",
      "2026-01-02T00:00:00Z/",
      "2026-01-01T00:00:00Z/2026-01-02T00:00:00Z/x",
    ];
    for (const compare of ["soon", "boot:", "boot:x", "snapshot:1", ...times])
      expect(await ask(`compare=${compare}`)).toMatchObject({
        status: 400,
        json: { error: { details: { field: "compare" } } },
      });
    const empty = await startTestService();
    const reply = await send(empty, { path: "/api/v1/system/logs/templates?compare=boot", key: empty.admin });
    expect(reply).toMatchObject({ status: 404, json: { error: { code: "NOT_FOUND" } } });
    await empty.app.close();
  });
});

describe("template= of queries of logs", () => {
  const idOf = async (text: string): Promise<string> => {
    const { templates } = await get<LogTemplates>("templates");
    return templates.find((each) => each.text === text)?.id ?? text;
  };

  it("finds the entries of a template in lists, counts and exports, with other filters", async () => {
    const now = service.clock.now() * 1000;
    for (const number of [1, 2, 3])
      service.journal.write({
        message: `took ${number} ms`,
        unit: "app-1.service",
        priority: number,
        time: now - 9 + number,
      });
    const template = await idOf("took <*> ms");
    const list = await send(service, { path: `/api/v1/system/logs?template=${template}`, key: service.admin });
    const messages = (list.json as LogList).logs.map(({ message }) => message);
    expect([messages, list.json]).toEqual([
      ["took 1 ms", "took 2 ms", "took 3 ms"],
      expect.objectContaining({ total: 3 }),
    ]);
    expect(await get(`histogram?template=${template}&priority=2`)).toMatchObject({ total: 2 });
    expect(await get(`facets?template=${template}`)).toMatchObject({ total: 3, distinct: { priority: 3 } });
    expect(await get(`templates?template=${template}`)).toMatchObject({ distinct: 1, templates: [{ count: 3 }] });
    const path = `/api/v1/system/logs/export?format=text&template=${template}`;
    expect((await send(service, { path, key: service.admin })).text.match(/took \d ms/g)).toEqual(messages);
  });

  it("is refused where no template has the id, or none that the key may see", async () => {
    const template = await idOf("nginx fails");
    const ask = (path: string, key = service.admin) => send(service, { path: `/api/v1/system/logs${path}`, key });
    const unknown = { status: 400, json: { error: { details: { field: "template" } } } };
    for (const path of ["?", "/histogram?", "/facets?", "/templates?", "/export?"])
      expect(await ask(`${path}template=${"0".repeat(16)}`)).toMatchObject(unknown);
    expect(await ask("?template=nginx")).toMatchObject(unknown);
    const [own, foreign] = [service.key(["logs:read:nginx.service"]), service.key(["logs:read:app-*"])];
    expect(await ask(`?template=${template}`, own)).toMatchObject({ status: 200, json: { total: 1 } });
    expect(await ask(`?template=${template}`, foreign)).toMatchObject(unknown);
  });
});
