import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { createFakeJournal } from "../fakes/journal.ts";
import { createFakeProcesses, fakeProcess } from "../fakes/processes.ts";
import { createFakeTraceStore } from "../fakes/trace-store.ts";
import { pathOf, send, startTestService, type TestService } from "./harness.ts";

let service: TestService;
beforeAll(async () => {
  const traces = createFakeTraceStore();
  for (const id of ["1", "2", "3"].map((digit) => digit.repeat(32))) {
    const span = { traceId: id, spanId: id.slice(16), isRoot: true, isError: false, name: id, json: "{}" };
    const resource = { service: "app", resource: "{}" };
    // Two of them at the same time.
    await traces.add([{ ...resource, spans: [{ ...span, startUs: id > "2" ? 5 : 7, endUs: 9 }] }], 1000);
  }
  const journal = createFakeJournal(["a", "b", "c"].map((message) => ({ message })));
  const processes = createFakeProcesses([fakeProcess(3), fakeProcess(1), fakeProcess(2)]);
  service = await startTestService({ traces, journal, processes });
  for (const description of ["one", "two", "three"])
    await send(service, {
      ...{ method: "POST", path: "/api/v1/updates/snapshots", key: service.admin, body: { description } },
    });
});
afterAll(() => service.app.close());

interface Page {
  readonly total?: number;
  readonly limit: number | null;
  readonly next_cursor: string | null;
}
const propertiesOf = (schema: unknown): object => (schema as { properties?: object } | undefined)?.properties ?? {};

const rows = Object.entries<Operation>(operations).filter(
  ([name, { response }]) => /^(?:list|search)/.test(name) && "next_cursor" in propertiesOf(response),
);
const paged = rows.filter(
  ([name, { query }]) => "cursor" in propertiesOf(query) && !["listLogs", "listAudit"].includes(name),
);

const get = (operation: Operation, query = "") =>
  send(service, { path: `${pathOf(operation, { name: "MESSAGE" })}${query}`, key: service.admin });
/** The members of a list: the first array in its answer. */
const membersOf = (json: unknown): readonly unknown[] =>
  Object.values(json as object).find((value): value is unknown[] => Array.isArray(value)) ?? [];

it.each(rows.filter(([name]) => name !== "listLogs"))("the list %s has its total and limit", async (_, operation) => {
  const { status, json } = await get(operation);
  if (status === 503) return;
  expect([status, json]).toEqual([200, expect.objectContaining({ next_cursor: null })]);
  const { total, limit } = json as Page;
  if (total !== undefined) expect(total).toBe(membersOf(json).length);
  expect(limit === null || limit >= membersOf(json).length).toBe(true);
});

describe.each(paged)("the list %s", (name, operation) => {
  it("has all members in pages of one", async () => {
    const all = membersOf((await get(operation)).json);
    const seen: unknown[] = [];
    let query = "?limit=1";
    for (let page = 0; page <= all.length; page += 1) {
      const { json } = await get(operation, query);
      expect((json as Page).limit).toBe(1);
      seen.push(...membersOf(json));
      const { next_cursor: cursor } = json as Page;
      if (cursor === null) break;
      query = `?limit=1&cursor=${encodeURIComponent(cursor)}`;
    }
    expect([name, seen]).toEqual([name, all]);
  });

  it("refuses a malformed cursor", async () => {
    const { status, json } = await get(operation, "?cursor=nonsense");
    expect([status, json]).toMatchObject([400, { error: { details: { field: "cursor" } } }]);
  });
});

it("the list of processes continues after a process that has ended, whose pid is used again", async () => {
  const processes = createFakeProcesses([1, 2, 3, 4].map((pid) => fakeProcess(pid)));
  const host = await startTestService({ processes });
  const page = async (query: string) => {
    const { json } = await send(host, { path: `/api/v1/system/processes?sort=pid&limit=2${query}`, key: host.admin });
    const { processes: found, ...shape } = json as Page & { readonly processes: readonly { readonly pid: number }[] };
    return { ...shape, pids: found.map(({ pid }) => pid) };
  };
  const first = await page("");
  expect(first).toMatchObject({ total: 4, limit: 2, pids: [1, 2] });
  const cursor = `&cursor=${encodeURIComponent(first.next_cursor ?? "")}`;
  processes.end(1);
  expect(await page(cursor)).toMatchObject({ total: 3, next_cursor: null, pids: [3, 4] });
  processes.put({ ...fakeProcess(2), startTicks: 999 });
  processes.put(fakeProcess(5));
  // At the place of the one that is gone.
  expect((await page(cursor)).pids).toEqual([3, 4]);
  await host.app.close();
});

it("the values of a field come in pages also where they are long or binary", async () => {
  const long = "ä😀".repeat(200);
  const values = [{ text: `${long}1` }, { text: `${long}2` }, { base64: "AAAA" }, { text: "AAAA" }, { text: "" }];
  const fields = values.map((value) => ({ name: "FIELD", ...value }));
  const host = await startTestService({ journal: createFakeJournal([{ message: "m", fields }]) });
  const page = async (query: string) => {
    const { json } = await send(host, { path: `/api/v1/system/logs/fields/FIELD${query}`, key: host.admin });
    return json as Page & { readonly values: readonly object[] };
  };
  expect(await page("")).toEqual({ values, truncated: false, total: 5, limit: null, next_cursor: null });
  const seen: object[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const after: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { values: some, next_cursor: next, total } = await page(`?limit=1${after}`);
    expect([some.length, total]).toEqual([1, 5]);
    seen.push(...some);
    cursor = next;
  }
  expect(seen).toHaveLength(5);
  expect(seen).toEqual(expect.arrayContaining(values));
  await host.app.close();
});
