import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ProcessList } from "#contract/processes.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { createFakeProcesses, type FakeProcesses, fakeProcess } from "../fakes/processes.ts";
import { createFakeUnits, runningUnit } from "../fakes/units.ts";
import { messageOf, send, startTestService, type TestService } from "./harness.ts";

const mebi = 1024 * 1024;
let service: TestService;
let processes: FakeProcesses;
beforeEach(async () => {
  processes = createFakeProcesses([
    fakeProcess(1, { name: "systemd", unit: "init.scope" }),
    fakeProcess(2, { name: "kthreadd", isKernelThread: true, parentPid: 0 }),
    fakeProcess(10, { name: "nginx", unit: "nginx.service", cpuPercent: 1.04, memoryBytes: 5 * mebi }),
    fakeProcess(11, {
      name: "nginx",
      unit: "nginx.service",
      cpuPercent: 150,
      user: "www-data",
      uid: 33,
      parentPid: 10,
    }),
    fakeProcess(12, {
      ...{ name: "postgres", unit: "postgresql@15.service", memoryBytes: 500 * mebi },
      command: `postgres --password=hunter2 -D /data ${"x".repeat(600)}`,
      io: { readBytes: 5, writtenBytes: 7 },
    }),
    fakeProcess(13, { name: "dbus-daemon", unit: "dbus.service" }),
    fakeProcess(14, { name: "bash", unit: "session-3.scope", user: null, uid: null }),
    fakeProcess(15, { name: "node", unit: "steward.service" }),
    fakeProcess(16, { name: "steward", unit: "steward-task@1-2-3.service" }),
    fakeProcess(17, { name: "gone", unit: "cron.service", state: "zombie", parentPid: 7 }),
    fakeProcess(4242, { name: "node", unit: null }),
  ]);
  service = await startTestService({
    processes,
    units: createFakeUnits([
      { ...runningUnit("nginx.service", { mainPid: 10 }), restart: "on-failure" },
      runningUnit("cron.service"),
      runningUnit("dbus.service"),
      runningUnit("postgresql@15.service"),
      runningUnit("session-3.scope"),
      runningUnit("steward-task@1-2-3.service"),
    ]),
  });
});
afterEach(() => service.app.close());

const list = async (query = "", key = service.admin): Promise<ProcessList> => {
  const { status, json } = await send(service, { path: `/api/v1/system/processes${query}`, key });
  expect(status).toBe(200);
  return json as ProcessList;
};
const pids = async (query = "", key = service.admin) => (await list(query, key)).processes.map(({ pid }) => pid);

describe("the processes of the host", () => {
  it("are listed with their usage, highest first", async () => {
    const answer = await list("?limit=2");
    expect(answer).toMatchObject({ total: 11, cpu_seconds: 2, is_complete: true });
    expect(answer.processes[0]).toEqual({
      ...{ pid: 11, ppid: 10, name: "nginx", user: "www-data", unit: "nginx.service" },
      ...{ start_time: toTimestamp(fakeProcess(11).startedAt), state: "sleeping", threads: 1, cpu_percent: 150 },
      ...{ memory_bytes: mebi, io: null, command: "/usr/bin/nginx", is_kernel_thread: false },
    });
    expect(answer.processes[1]).toMatchObject({ pid: 10, cpu_percent: 1 });
    expect(answer.notes).toEqual([]);
    expect((await pids("?sort=memory")).slice(0, 2)).toEqual([12, 10]);
    expect((await pids("?sort=io")).slice(0, 2)).toEqual([12, 10]);
  });

  it("are listed by their input and output, of which root is asked then alone", async () => {
    processes.put(fakeProcess(11, { unit: "nginx.service", ioForRoot: { readBytes: 100, writtenBytes: 0 } }));
    const busy = await list("?sort=io&limit=2");
    expect(busy).toMatchObject({
      notes: [],
      processes: [
        { pid: 11, io: { read_bytes: 100, written_bytes: 0 } },
        { pid: 12, io: { read_bytes: 5, written_bytes: 7 } },
      ],
    });
    expect((await list("?sort=io&limit=3")).notes).toEqual([expect.stringContaining("input and output")]);
    expect((await list("?pid=11")).processes).toMatchObject([{ io: null }]);
    expect(await pids("?sort=io", service.key(["processes:read:nginx"]))).toEqual([11, 10]);
  });

  it("are listed by deleted files that they have open, which are reported then alone", async () => {
    const deletedFiles = { count: 2, bytes: 4096, largest: "/srv/spool" };
    processes.put(fakeProcess(11, { unit: "nginx.service", deletedFiles }));
    const holding = await list("?sort=deleted&limit=1");
    expect(holding).toMatchObject({ notes: [], processes: [{ pid: 11, deleted_files: deletedFiles }] });
    const all = await list("?sort=deleted&limit=2");
    expect([all.processes[1]?.deleted_files, all.notes]).toEqual([null, [expect.stringContaining("deleted files")]]);
    expect(await pids("?sort=deleted", service.key(["processes:read:nginx"]))).toEqual([11, 10]);
  });

  it("are filtered by unit, user and pid", async () => {
    expect(await pids("?unit=nginx")).toEqual([11, 10]);
    expect(await pids("?unit=postgresql*")).toEqual([12]);
    expect(await pids("?user=www-data")).toEqual([11]);
    expect(await pids("?user=33")).toEqual([11]);
    expect(await pids("?pid=12")).toEqual([12]);
    expect(await pids("?unit=nothing")).toEqual([]);
  });

  it("are summed by unit, whatever the limit", async () => {
    const { units } = await list("?by_unit=true&limit=1");
    expect(units?.[0]).toEqual({
      ...{ unit: "nginx.service", processes: 2, threads: 2, cpu_percent: 151, memory_bytes: 6 * mebi },
    });
    expect(units?.at(-1)?.processes).toBeGreaterThan(0);
    expect(units?.find(({ unit }) => unit === null)).toMatchObject({ processes: 2 });
    expect((await list("?by_unit=true&sort=memory")).units?.[0]).toMatchObject({ unit: "postgresql@15.service" });
    expect(await list()).not.toHaveProperty("units");
  });

  it("have command lines without secrets, cut, and whole for keys that may see them", async () => {
    const [shown] = (await list("?pid=12")).processes;
    expect(shown?.command).toMatch(/^postgres --password=\[redacted\] -D \/data x+…$/);
    expect(shown?.command).toHaveLength(512);
    // It is remembered without its secret.
    expect((await list("?pid=12")).processes[0]?.command).toBe(shown?.command);
    const [whole] = (await list("?pid=12&full_command=true")).processes;
    expect(whole?.command).toMatch(/^postgres --password=hunter2 -D \/data x{600}$/);
    const plain = service.key(["processes:read"]);
    const { status, json } = await send(service, { path: "/api/v1/system/processes?full_command=true", key: plain });
    expect([status, json]).toMatchObject([403, { error: { details: { required_scope: "processes:commands" } } }]);
    const narrowed = service.key(["processes:read", "processes:commands:nginx"]);
    expect((await list("?pid=12&full_command=true", narrowed)).processes[0]?.command).not.toContain("hunter2");
    expect((await list("?pid=11&full_command=true", narrowed)).processes[0]?.command).toBe("/usr/bin/nginx");
  });

  it("are audited where whole command lines were asked for", async () => {
    await list("?pid=12");
    await list("?pid=12&full_command=true");
    expect(service.audit.entries).toMatchObject([{ operation: "listProcesses", target: { full_command: "true" } }]);
  });

  it("are those of its units for a narrowed key", async () => {
    const key = service.key(["processes:read:nginx", "processes:read:postgresql*"]);
    expect(await list("?by_unit=true", key)).toMatchObject({ total: 3, units: [{}, {}] });
    expect(await pids("", key)).toEqual([11, 10, 12]);
    expect(await pids("?pid=1", key)).toEqual([]);
    expect(await pids("?unit=dbus", key)).toEqual([]);
  });

  it("are marked as incomplete where others are hidden", async () => {
    processes.hidesOthers = true;
    const { is_complete: isComplete, notes } = await list();
    expect(isComplete).toBe(false);
    expect(notes.join("\n")).toContain("hidepid=");
    expect(notes.join("\n")).toContain("user namespace");
  });
});

describe("a signal to a process", () => {
  const signal = (
    pid: number,
    { name = "TERM", query = "", key = service.admin, start = fakeProcess(pid).startedAt } = {},
  ) =>
    send(service, {
      method: "POST",
      path: `/api/v1/system/processes/${pid}/signal${query}`,
      key,
      body: { signal: name, start_time: toTimestamp(start) },
    });

  it("is sent to the process that was meant", async () => {
    expect((await signal(11)).json).toEqual({
      ...{ success: true, message: "SIGTERM sent to process 11 (nginx), which has ended" },
      ...{ pid: 11, signal: "TERM", unit: "nginx.service", has_ended: true },
    });
    expect(processes.sent).toEqual([[11, "TERM"]]);
    expect((await signal(11)).status).toBe(404);
    expect((await signal(10, { start: 0 })).status).toBe(409);
    expect((await signal(10, { name: "STOP" })).json).toMatchObject({ has_ended: false });
    expect((await signal(10, { name: "QUIT" })).status).toBe(400);
  });

  it("is planned with what systemd does then", async () => {
    const plan = async (pid: number, name: string) => (await signal(pid, { name, query: "?dry_run=true" })).json;
    expect(await plan(10, "KILL")).toMatchObject({
      steps: ["send SIGKILL to process 10 (/usr/bin/nginx, user root)"],
      units: ["nginx.service"],
      reason:
        "10 is the main process of nginx.service: systemd starts nginx.service again if it ends by this signal (Restart=on-failure)",
    });
    expect(await plan(10, "TERM")).toMatchObject({ reason: expect.stringContaining("does not start it again") });
    expect(await plan(11, "KILL")).toMatchObject({ reason: expect.stringContaining("is not the main process") });
    expect(await plan(10, "STOP")).not.toHaveProperty("reason");
    expect(await plan(14, "HUP")).toMatchObject({
      units: ["session-3.scope"],
      steps: ["send SIGHUP to process 14 (/usr/bin/bash)"],
    });
    expect(await plan(12, "KILL")).toMatchObject({ steps: [expect.stringContaining("--password=[redacted]")] });
    expect(processes.sent).toEqual([]);
  });

  it.each([
    [1, "it is the init process"],
    [2, "it is a kernel thread, which ignores signals"],
    [13, "it belongs to dbus.service: Steward protects dbus.service"],
    [15, "it belongs to this service"],
    [16, "steward-task@1-2-3.service carries out a task of this service"],
    [17, "it has ended, and is a zombie until its parent 7 collects it"],
    [4242, "it belongs to this service"],
  ])("to process %d is refused: %s", async (pid, reason) => {
    for (const query of ["", "?dry_run=true"]) {
      const { status, json } = await signal(pid, { name: "KILL", query });
      expect([status, json]).toMatchObject([400, { error: { details: { field: "pid" } } }]);
      expect((json as { error: { message: string } }).error.message).toContain(reason);
    }
    expect(processes.sent).toEqual([]);
  });

  it("is for the units of a narrowed key", async () => {
    const key = service.key(["processes:signal:nginx", "processes:signal@db-*"]);
    expect((await signal(11, { key })).status).toBe(200);
    const refused = await signal(12, { key });
    expect([refused.status, messageOf(refused)]).toEqual([
      403,
      "this key lacks the scope processes:signal on this host: it has processes:signal@db-*",
    ]);
    expect((await signal(4242, { key })).status).toBe(403);
    expect((await signal(1, { key })).status).toBe(403);
  });

  it("is not sent while systemd cannot say what the unit is", async () => {
    service.units.available = false;
    expect((await signal(11)).status).toBe(503);
    expect(processes.sent).toEqual([]);
  });
});
