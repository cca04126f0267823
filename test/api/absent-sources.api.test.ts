import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { openStream } from "../process/support/ws-client.ts";
import { errorWith, messageOf, send, startTestService, type TestService } from "./harness.ts";
import { useSteward } from "./steward.ts";

let service: TestService;
const { steward, url } = useSteward(async () => {
  service = await startTestService();
  return service;
});
const noJournal = "there are no journal files in /var/log/journal";
const noSystemd = "systemd is not running on this host";

const get = async (path: string, key = service.admin): Promise<unknown> => {
  const { status, json } = await send(service, { path: `/api/v1${path}`, key });
  expect([path, status]).toEqual([path, 200]);
  return json;
};
const lack = (what: string, reason: string) => ({ not_shown: [{ what, reason }] });

describe("where there is no journal", () => {
  beforeEach(() => {
    service.journal.absence = noJournal;
  });

  it.each([
    ["/system/logs", { logs: [] }],
    ["/system/logs/histogram", { total: 0 }],
    ["/system/logs/facets", { total: 0 }],
    ["/system/logs/templates", { total: 0 }],
    ["/system/logs/boots", { boots: [] }],
    ["/system/logs/fields", { names: [] }],
    ["/system/logs/fields/_COMM", { values: [] }],
  ])("%s says so beside an empty list", async (path, empty) => {
    expect(await get(path)).toMatchObject({ ...empty, ...lack("entries", noJournal) });
    service.journal.absence = undefined;
    expect(await get(path)).not.toHaveProperty("not_shown");
  });

  it("the log of a service and failed logins are not known, not empty", async () => {
    const [unit] = await service.units.list();
    expect(await get(`/system/services/${unit?.name}`)).toMatchObject({
      logs: null,
      runs: null,
      not_shown: expect.arrayContaining([{ what: "logs", reason: noJournal }]),
    });
    expect(await get("/system/logins")).toMatchObject({
      failed: null,
      not_shown: expect.arrayContaining([{ what: "failed", reason: noJournal }]),
    });
  });

  const unavailable = { missing: "journal", reason: noJournal, retryable: false };

  it("an export is refused before its first byte", async () => {
    const path = "/api/v1/system/logs/export";
    const reply = await send(service, { path, key: service.admin });
    expect([reply.status, reply.json]).toMatchObject([503, errorWith("UNAVAILABLE", unavailable)]);
    expect(messageOf(reply)).toBe(`cannot read the journal: ${noJournal}`);
    service.journal.absence = undefined;
    expect(await send(service, { path, key: service.admin })).toMatchObject({ status: 200, text: "" });
  });

  it("a stream of entries begins with an error, and has the entries of a journal that comes", async () => {
    const stream = await openStream(url(), "/api/v1/ws/logs", { headers: { "X-API-Key": service.admin } });
    const message = `cannot read the journal: ${noJournal}`;
    expect(await stream.first(1)).toMatchObject([{ type: "error", message, ...errorWith("UNAVAILABLE", unavailable) }]);
    service.journal.write({ message: "now there is one" });
    expect((await stream.last("now there is one")).at(-1)).toMatchObject({ unit: "app.service" });
    stream.socket.terminate();
  });

  it("the command line says so in words, and succeeds", async () => {
    const missing = `not shown: entries: ${noJournal}\n`;
    const nothing = { code: 0, out: "", err: `-- No entries --\n${missing}` };
    expect(await steward("logs -u nobody")).toEqual(nothing);
    expect(await steward("logs -n all -u nobody")).toEqual(nothing);
    const directory = mkdtempSync(join(tmpdir(), "steward-absent-"));
    const file = join(directory, "export");
    expect(await steward(["logs", "--export", file])).toEqual({
      code: 0,
      out: "",
      err: `-- 0 entries, 0 bytes in ${file} --\n${missing}`,
    });
    rmSync(directory, { recursive: true });
    for (const option of ["--histogram", "--facets", "--templates", "--list-boots", "--fields"]) {
      const { code, err } = await steward(["logs", option]);
      expect([option, code, err]).toEqual([option, 0, expect.stringContaining(missing)]);
    }
  });
});

describe("where systemd does not run", () => {
  it.each(["/system/services?status=failed", "/system/units?status=failed"])(
    "%s says that states are not known",
    async (path) => {
      expect(await get(path)).not.toHaveProperty("not_shown");
      service.units.absence = noSystemd;
      expect(await get(path)).toMatchObject(lack("states", noSystemd));
    },
  );

  it("the command line says so", async () => {
    service.units.absence = noSystemd;
    for (const command of ["services -s failed", "units -s failed"])
      expect((await steward(command)).out).toContain(`not shown: states: ${noSystemd}\n`);
  });
});

it("the history of packages is not known where nothing logs it", async () => {
  const { catalog } = service.packageManager;
  expect(await get("/packages/history")).not.toHaveProperty("not_shown");
  catalog.historyAbsence = "there is no /var/log/apt/history.log";
  const none = lack("transactions", "there is no /var/log/apt/history.log");
  expect(await get("/packages/history")).toMatchObject({ transactions: [], ...none });
  expect(await steward("packages history")).toEqual({
    code: 0,
    out: "0 transactions\nnot shown: transactions: there is no /var/log/apt/history.log\n",
    err: "",
  });
});

describe("where there are no lists of packages", () => {
  beforeEach(() => {
    service.packageManager.listsAt = null;
  });

  it("updates and packages that are not installed are not known", async () => {
    expect(await get("/updates/check")).toMatchObject({
      checked_at: null,
      ...lack("packages", expect.stringContaining("no package lists")),
    });
    expect(await get("/packages?search=e")).toMatchObject(
      lack("packages that are not installed", expect.stringContaining("no package lists")),
    );
    service.packageManager.listsAt = service.clock.now();
    expect(await get("/updates/check")).not.toHaveProperty("not_shown");
    expect(await get("/packages?search=e")).not.toHaveProperty("not_shown");
    vi.spyOn(service.packageManager.lists, "refreshedAt").mockRejectedValue(new Error("cannot ask for the sources"));
    expect(await get("/packages?search=e")).toMatchObject(
      lack("packages that are not installed", "cannot ask for the sources"),
    );
  });

  it("the command line does not say that there is nothing to update, nor does the metric", async () => {
    const { out } = await steward("updates check");
    expect(out).toMatch(/no package lists: --refresh fetches them\n$/);
    expect(out).not.toContain("nothing to update");
    const { text } = await send(service, { path: "/api/v1/metrics", key: service.admin });
    expect(text).not.toMatch(/^svc_updates_available\{/m);
  });
});

it("snapshots are not known where no package manager is supported", async () => {
  const without = await startTestService({ hostUpdates: () => Promise.resolve(undefined) });
  const { json } = await send(without, { path: "/api/v1/updates/snapshots", key: without.admin });
  expect(json).toEqual({ snapshots: [], ...lack("snapshots", expect.stringContaining("no package manager")) });
  await without.app.close();
});
