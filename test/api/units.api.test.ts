import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ServiceDetails, UnitEntry } from "#contract/units.ts";
import type { KindUnit } from "#domain/ports/unit-details.ts";
import { createFakeJournal } from "../fakes/journal.ts";
import { createFakeUnitDetails } from "../fakes/unit-details.ts";
import { createFakeUnitExamination } from "../fakes/unit-examination.ts";
import { createFakeUnits, runningUnit } from "../fakes/units.ts";
import { send, startTestService, type TestService } from "./harness.ts";

const state = { description: "", loadState: "loaded", activeState: "active", subState: "waiting", since: null };
const others: readonly KindUnit[] = [
  {
    ...{ name: "job.timer", kind: "timer", ...state, unitFileState: "enabled", result: "success" },
    timer: {
      unit: "job.service",
      lastAt: null,
      nextAt: Date.parse("2026-01-01T06:00:00Z"),
      rules: ["OnCalendar=daily"],
    },
  },
  {
    ...{ name: "mnt.mount", kind: "mount", ...state, unitFileState: "generated", result: "success" },
    mount: { what: "//nas/share", where: "/mnt", type: "cifs", options: "rw,username=u,password=hunter2" },
  },
];

const log = [
  { unit: "job.service", message: "Started job.service - A job.", pid: 1, uid: 0, identifier: "systemd" },
  { unit: "job.service", message: "it works", pid: 12, identifier: "job" },
  { unit: "other.service", message: "of another", pid: 13, identifier: "other" },
  { unit: "other.service", message: "Started other.service.", pid: 1, uid: 0, identifier: "systemd" },
  ...Array.from({ length: 100 }, (_, at) => ({ unit: "other.service", message: `line ${at}`, pid: 14 })),
];

let service: TestService;
beforeEach(async () => {
  const units = createFakeUnits([runningUnit("job.service", { mainPid: 12 }), runningUnit("other.service")]);
  service = await startTestService({
    units,
    journal: createFakeJournal(log),
    unitDetails: createFakeUnitDetails(
      units,
      {
        "job.service": {
          fragment: { path: "/etc/systemd/system/job.service", text: "[Service]\nEnvironment=DB_PASSWORD=hunter2\n" },
          dropIns: [{ path: "/etc/systemd/system/job.service.d/a.conf", withheld: "not for all" }],
          commands: [
            {
              ...{ setting: "ExecStart", argv: ["/bin/job", "--token=hunter2hunter2", "two words"] },
              ...{ ignoresFailure: false, startedAt: 0, endedAt: null, exitCode: null },
            },
          ],
          processes: [{ pid: 12, command: "/bin/job --password hunter2" }],
          processesTotal: 1,
          statusText: "connected to postgres://u:hunter2@db/x",
          controlGroup: "/system.slice/job.service",
          dependencies: { requires: ["db.service"] },
          triggers: [{ name: "job.timer", activeState: "active", ...(others[0]?.timer && { timer: others[0].timer }) }],
          lastRun: { startedAt: 0, endedAt: null, exitCode: null, signal: null },
        },
      },
      others,
    ),
    unitExamination: createFakeUnitExamination({ listening: [{ protocol: "tcp", address: "127.0.0.1", port: 80 }] }),
  });
  // Past the entries of the log.
  await service.clock.advance(180_000);
});
afterEach(() => service.app.close());

const show = async (name: string, key = service.admin): Promise<ServiceDetails> => {
  const { status, json } = await send(service, { path: `/api/v1/system/services/${name}`, key });
  expect(status).toBe(200);
  return json as ServiceDetails;
};
const hidden = ({ not_shown: notShown }: ServiceDetails) => notShown.map(({ what }) => what);

describe("GET /system/services/{name}", () => {
  it("answers with all details of a service, without its secrets", async () => {
    const reported = await show("job");
    expect(reported).toMatchObject({
      name: "job.service",
      running: true,
      commands: [{ command: '/bin/job --token=[redacted] "two words"' }],
      processes: [{ pid: 12 }],
      dependencies: { requires: ["db.service"], wanted_by: [] },
      triggered_by: [{ name: "job.timer", timer: { next_at: "2026-01-01T06:00:00.000Z" } }],
      last_run: { result: "running", ended_at: null },
      files: {
        fragment: { path: "/etc/systemd/system/job.service" },
        drop_ins: [{ text: null, withheld: "not for all" }],
      },
      control: { permitted: true, reason: "" },
      listening: null,
      security: null,
    });
    expect(JSON.stringify(reported)).not.toContain("hunter2");
    expect(hidden(reported)).toEqual(["listening", "security"]);
  });

  it("has the end of its log and its runs where the key may read that log", async () => {
    const messagesFor = async (...scopes: readonly string[]) => {
      const reported = await show("job", service.key(["system:read", ...scopes]));
      return [
        reported.logs?.map(({ message }) => message),
        reported.runs?.map(({ result }) => result),
        hidden(reported),
      ];
    };
    const whole = [["Started job.service - A job.", "it works"], ["running"], ["listening", "security"]];
    expect(await messagesFor("logs:read")).toEqual(whole);
    expect(await messagesFor("logs:read:job")).toEqual(whole);
    expect(await messagesFor("logs:read:jo*")).toEqual(whole);
    const withheld = [undefined, undefined, ["logs", "runs", "listening", "security"]];
    expect(await messagesFor()).toEqual(withheld);
    expect(await messagesFor("logs:read:other")).toEqual(withheld);
  });

  it("has runs that began far before the end of its log", async () => {
    const { logs, runs } = await show("other");
    expect([logs?.length, logs?.[0]?.message, logs?.at(-1)?.message]).toEqual([20, "line 80", "line 99"]);
    expect(runs).toMatchObject([{ result: "running", ended_at: null }]);
  });

  it("has listening sockets and a security rating on request, and the reason where there is none", async () => {
    const reported = await show("job?listening=true&security=true");
    expect(reported).toMatchObject({
      listening: [{ protocol: "tcp", address: "127.0.0.1", port: 80 }],
      security: null,
      not_shown: [{ what: "security", reason: "cannot run systemd-analyze: not installed" }],
    });
  });

  it("does not take logs:read for system:read, nor a template for a service", async () => {
    const path = "/api/v1/system/services/job";
    expect((await send(service, { path, key: service.key(["logs:read"]) })).status).toBe(403);
    const template = await send(service, { path: "/api/v1/system/services/job@", key: service.admin });
    expect([template.status, template.json]).toMatchObject([400, { error: { details: { field: "name" } } }]);
  });
});

describe("GET /system/units", () => {
  const list = async (query = "") => {
    const { status, json } = await send(service, { path: `/api/v1/system/units${query}`, key: service.admin });
    expect(status).toBe(200);
    return json as { units: UnitEntry[]; total: number };
  };
  const namesOf = async (query?: string) => (await list(query)).units.map(({ name }) => name);

  it("lists units by type and state, and counts before the limit", async () => {
    const all = ["job.service", "job.timer", "mnt.mount", "other.service"];
    expect(await namesOf()).toEqual(all);
    expect(await namesOf("?type=service")).toEqual(["job.service", "other.service"]);
    expect(await namesOf("?type=slice")).toEqual([]);
    expect(await namesOf("?status=failed")).toEqual([]);
    expect(await list("?limit=1")).toMatchObject({ units: [{ name: "job.service" }], total: 4 });
  });

  it("has the properties of each type, without secrets", async () => {
    expect((await list("?type=timer")).units).toMatchObject([
      { name: "job.timer", type: "timer", result: "success", timer: { unit: "job.service", last_at: null } },
    ]);
    const [mount] = (await list("?type=mount")).units;
    expect(mount?.mount).toMatchObject({ where: "/mnt", type: "cifs" });
    expect(JSON.stringify(mount)).not.toContain("hunter2");
  });

  it.each(["type=device", "limit=0", "limit=1001", "status=dead"])("refuses %s", async (query) => {
    expect((await send(service, { path: `/api/v1/system/units?${query}`, key: service.admin })).status).toBe(400);
  });
});
