import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { unreadHeader } from "#contract/log-entry.ts";
import type { ServiceDetails } from "#contract/units.ts";
import type { ExportPart } from "#domain/ports/journal.ts";
import { createFakeUnits, runningUnit } from "../fakes/units.ts";
import { openStream, type StreamConnection } from "../process/support/ws-client.ts";
import { startTestService, type TestService } from "./harness.ts";

const base = "/api/v1/system/logs";
const directory = "/var/log/journal/0123/";
const ofDefault = { path: `${directory}a.journal`, name: "a.journal", namespace: "", reason: "it is damaged: ü" };
const ofTenant = {
  path: "/var/log/journal/0123.tenant/b.journal",
  name: "b.journal",
  namespace: "tenant",
  reason: "it cannot be opened (EIO)",
};
const unlisted = {
  path: "/var/log/journal/0123.other",
  name: "a directory of journal files",
  namespace: undefined,
  reason: "no permission to list it",
};
const shown = ({ path: file, reason }: typeof ofDefault) => ({ file, reason });
const shownNarrowed = ({ name: file, reason }: typeof ofDefault) => ({ file, reason });

let service: TestService;
let cursor: string;
beforeEach(async () => {
  service = await startTestService({ units: createFakeUnits([runningUnit("app-1.service")]) });
  cursor = service.journal.write({ message: "hello", unit: "app-1.service", time: service.clock.now() * 1000 });
  service.journal.unread = [ofDefault, ofTenant];
});
afterEach(() => service.app.close());

const get = (path: string, key = service.admin) =>
  service.app.inject({ url: path, headers: { host: "localhost", "x-api-key": key } });
const unreadIn = async (path: string, key?: string): Promise<unknown> =>
  (await get(path, key)).json<{ unread?: unknown }>().unread;

describe("files of the journal that cannot be read", () => {
  it.each(["", "/histogram", "/facets", "/templates", "/boots", "/fields", "/fields/MESSAGE"])(
    "are named in %s, those of the namespaces that are asked for",
    async (path) => {
      expect(await unreadIn(`${base}${path}`)).toEqual([shown(ofDefault)]);
      expect(await unreadIn(`${base}${path}?namespace=*`)).toEqual([shown(ofDefault), shown(ofTenant)]);
      service.journal.unread = [];
      expect((await get(`${base}${path}`)).json()).not.toHaveProperty("unread");
    },
  );

  it("are named in the context of an entry, which is of all namespaces", async () => {
    const path = `${base}/context?cursor=${encodeURIComponent(cursor)}`;
    expect(await unreadIn(path)).toEqual([shown(ofDefault), shown(ofTenant)]);
  });

  it("are named where the entry of a cursor is not found: it may be in them", async () => {
    const path = `${base}/context?cursor=s=${"0".repeat(32)};i=1;b=${"0".repeat(32)};m=1;t=1;x=1`;
    const { path: file, reason } = ofDefault;
    const elsewhere = "the journal has removed it, or it is of another host";
    const unread = `or it is in a file that cannot be read: ${file} (${reason}), ${ofTenant.path} (${ofTenant.reason})`;
    const messageOf = async (key?: string) =>
      (await get(path, key)).json<{ error: { message: string } }>().error.message;
    expect(await messageOf()).toBe(`cannot find the entry of this cursor: ${elsewhere}, ${unread}`);
    expect(await messageOf(service.key(["logs:read:app-*"]))).not.toContain("0123");
    service.journal.unread = [];
    expect(await messageOf()).toBe(`cannot find the entry of this cursor: ${elsewhere}`);
  });

  it("are named where a boot to compare with is not found", async () => {
    const message = async (compare: string) =>
      (await get(`${base}/templates?compare=${compare}`)).json<{ error: { message: string } }>().error.message;
    const files = `in a file that cannot be read: ${ofDefault.path} (${ofDefault.reason})`;
    expect(await message("boot:-9")).toMatch(/^cannot find the boot -9 in the journal .*, or it is in a file/);
    Object.assign(service.journal, { boots: () => Promise.resolve({ boots: [], unread: [shown(ofDefault)] }) });
    expect(await message("boot")).toBe(
      `cannot compare with the time before the last boot: the journal has no entries, or they are ${files}`,
    );
  });

  it("are named beside the log of a unit and beside failed logins", async () => {
    const reason = (file: string) => `entries may be missing: cannot read ${file} (${ofDefault.reason})`;
    service.journal.unread = [ofDefault];
    const unit = (await get("/api/v1/system/services/app-1.service")).json<ServiceDetails>();
    expect(unit.logs).toHaveLength(1);
    expect(unit.not_shown).toEqual(
      expect.arrayContaining(["logs", "runs"].map((what) => ({ what, reason: reason(ofDefault.name) }))),
    );
    const logins = (await get("/api/v1/system/logins")).json<{ failed: unknown; not_shown: unknown }>();
    expect(logins.failed).toEqual([]);
    expect(logins.not_shown).toContainEqual({ what: "failed", reason: reason(ofDefault.path) });
  });

  it("are named to a narrowed key without their paths, which name namespaces", async () => {
    service.journal.unread = [ofDefault, ofTenant, unlisted];
    const key = service.key(["logs:read:app-*"]);
    const named = [shownNarrowed(ofDefault), shownNarrowed(ofTenant), { file: unlisted.name, reason: unlisted.reason }];
    for (const path of ["", "/facets", "/boots"]) {
      const reply = await get(`${base}${path}`, key);
      expect(reply.json()).toMatchObject({ unread: named });
      expect(reply.payload).not.toMatch(/0123/);
    }
  });

  it("are the first of many, and how many more there are", async () => {
    service.journal.unread = Array.from({ length: 40 }, (_, at) => ({
      ...ofDefault,
      path: `${directory}${at}.journal`,
    }));
    const unread = (await unreadIn(base)) as { file: string }[];
    expect(unread.map(({ file }) => file)).toEqual([
      ...Array.from({ length: 15 }, (_, at) => `${directory}${at}.journal`),
      "25 more",
    ]);
  });

  it("are named in the header of an export, in ASCII", async () => {
    const reply = await get(`${base}/export?format=json`);
    expect(reply.headers[unreadHeader.toLowerCase()]).toMatch(/^[ -~]+$/);
    expect(JSON.parse(String(reply.headers[unreadHeader.toLowerCase()]))).toEqual([shown(ofDefault)]);
    expect(reply.payload).toContain("hello");
    service.journal.unread = [];
    expect((await get(`${base}/export`)).headers).not.toHaveProperty(unreadHeader.toLowerCase());
  });

  it("cut an export that has started without naming them, so that its end is not that of a complete one", async () => {
    let asked = 0;
    const next = { cursor, written: cursor, boot: undefined, files: [] };
    const exportParts = (unread: readonly (typeof ofDefault)[]) => (): Promise<ExportPart> => {
      asked += 1;
      const isLast = asked === 3;
      const files = asked < 2 ? [] : unread.map(shown);
      return Promise.resolve({
        bytes: Buffer.from(`part ${asked}\n`),
        written: cursor,
        next: isLast ? undefined : next,
        unread: [shown(ofTenant), ...files],
      });
    };
    const address = await service.app.listen({ port: 0, host: "127.0.0.1" });
    const ask = () => fetch(`${address}${base}/export`, { headers: { "X-API-Key": service.admin } });
    Object.assign(service.journal, { export: exportParts([ofTenant]) });
    expect(await (await ask()).text()).toBe("part 1\npart 2\npart 3\n");
    asked = 0;
    Object.assign(service.journal, { export: exportParts([ofDefault]) });
    await expect(ask().then((reply) => reply.text())).rejects.toThrow();
    expect(service.logLines()).toContainEqual(
      expect.objectContaining({
        msg: "answer aborted",
        reason: expect.stringContaining(`cannot read all entries of ${ofDefault.path}: it is damaged`) as string,
      }),
    );
  });
});

describe("files of the journal that a stream cannot read", () => {
  let url: string;
  const opened: StreamConnection[] = [];
  beforeEach(async () => {
    url = await service.app.listen({ host: "127.0.0.1", port: 0 });
  });
  afterEach(() => {
    for (const { socket } of opened.splice(0)) socket.terminate();
  });
  const open = async (query: Record<string, string>, key = service.admin): Promise<StreamConnection> => {
    const stream = await openStream(url, "/api/v1/ws/logs", { query, headers: { "X-API-Key": key } });
    opened.push(stream);
    return stream;
  };
  const errorOf = (file: string, reason: string) => ({
    type: "error",
    message: `cannot read all of the journal: the stream lacks entries of ${file} (${reason})`,
    error: { code: "UNAVAILABLE", details: { missing: "journal", unread: [{ file, reason }], retryable: false } },
  });

  it("are named when it begins, each once, and the stream continues", async () => {
    const { path, name, reason } = ofDefault;
    const live = await open({});
    const later = await open({});
    const behind = await open({ cursor });
    const narrowed = await open({}, service.key(["logs:read:app-*"]));
    service.journal.write({ message: "next", unit: "app-1.service" });
    for (const stream of [live, later, behind]) {
      const [first, second] = await stream.first(2);
      expect(first).toMatchObject(errorOf(path, reason));
      expect(second).toMatchObject({ message: "next" });
    }
    const [first] = await narrowed.first(1);
    expect(first).toMatchObject({ error: { details: { unread: [{ file: name }, { file: ofTenant.name }] } } });
  });
});
