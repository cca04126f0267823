import { expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property, sameAsSystemctl } from "./support/systemctl.ts";

const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];

describeOnHost("a restart", { checks: [] }, (session) => {
  it("that takes its time holds up nobody else, however many wait for it", async () => {
    // systemd asks polkit about each of them, so they reach it one after the other and each begins it anew.
    const lines = ["[Unit]", "StartLimitIntervalSec=0", "[Service]", "Type=oneshot", "ExecStart=/bin/sleep 15"];
    await session.writeUnits({ "patient.service": lines });
    const abort = new AbortController();
    const { url, adminKey } = session.service;
    const client = createClient({ url, key: adminKey, signal: abort.signal });
    const waiting = Array.from({ length: 80 }, () => client.restartService({ params: { name: "patient" } }));
    const settled = Promise.allSettled(waiting);
    await eventually(async () => {
      expect(await property(session, "patient.service", "ActiveState")).toBe("activating");
    });
    expect(await session.api.restartService({ params: { name: "cron" } })).toMatchObject({ success: true });
    abort.abort();
    await settled;
    expect(await session.api.restartService({ params: { name: "cron" } })).toMatchObject({ success: true });
  });

  const restart = (name: string) => session.api.restartService({ params: { name } });
  const pidOf = async (unit: string) => Number(await property(session, unit, "MainPID"));

  it.each(["cron.service", "cron"])("of %s answers the new process", async (name) => {
    const before = await pidOf("cron.service");
    const answer = await restart(name);

    expect(answer.main_pid).not.toBe(before);
    expect(answer.main_pid).toBe(await pidOf("cron.service"));
    await sameAsSystemctl(session);
    expect(answer).toEqual({
      ...(await entry(session, "cron.service")),
      running: true,
      success: true,
      message: "cron.service restarted",
      job_result: "done",
    });
  });

  it.each([
    ["oneshot", ["Type=oneshot", "ExecStart=/bin/false"], "failed", "failed"],
    ["exec", ["Type=exec", "ExecStart=/opt/there-is-no-such-program"], "failed", "failed"],
    ["notify", ["Type=notify", "ExecStart=/bin/sleep infinity", "TimeoutStartSec=1"], "failed", "failed"],
    ["simple", ["Type=simple", "ExecStart=/bin/false"], "done", "failed"],
    ["again", ["ExecStart=/bin/false", "Restart=always", "RestartSec=60"], "done", "activating"],
    ["waiting", ["ExecStart=/bin/sleep infinity", "ExecStartPre=/bin/false"], "failed", "failed"],
  ])("of a unit that fails to start (%s) says so", async (type, service, jobResult, activeState) => {
    const name = `fails-${type}.service`;
    await session.writeUnits({ [name]: ["[Service]", ...service] });
    const error = await refusal(restart(name));

    expect(error).toMatchObject({
      status: 500,
      code: "INTERNAL_ERROR",
      details: { job_result: jobResult, active_state: activeState },
    });
    expect(error.message).toContain(`cannot restart ${name}: `);
  });

  it("of a unit whose requirement fails says so", async () => {
    await session.writeUnits({
      "requirement.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"],
      "requires.service": ["[Unit]", "Requires=requirement.service", "After=requirement.service", ...sleeper],
    });

    expect(await refusal(restart("requires.service"))).toMatchObject({
      status: 500,
      details: { job_result: "dependency", active_state: "inactive" },
    });
  });

  it("of a oneshot that is over when it has run is a success", async () => {
    await session.writeUnits({ "once.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/true"] });

    expect(await restart("once")).toMatchObject({
      success: true,
      message: "once.service ran and ended",
      active_state: "inactive",
      main_pid: null,
    });
  });

  it("of a unit whose condition does not hold is a success of systemd's, and shows it inactive", async () => {
    await session.writeUnits({ "unmet.service": ["[Unit]", "ConditionPathExists=/nowhere", ...sleeper] });

    expect(await restart("unmet")).toMatchObject({
      job_result: "done",
      message: "unmet.service was not started: a condition of the unit is not met",
      active: false,
    });
    await session.writeUnits({ "unmet.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/true"] });
    expect(await restart("unmet")).toMatchObject({ message: "unmet.service ran and ended" });
  });

  it("starts a unit again that its start limit has stopped", async () => {
    await session.writeUnits({
      "limited.service": [
        "[Unit]",
        "StartLimitIntervalSec=1h",
        "StartLimitBurst=2",
        "[Service]",
        "ExecStart=/bin/sh -c 'test -e /run/repaired && exec /bin/sleep infinity'",
        "Restart=always",
        "RestartSec=50ms",
      ],
    });
    await session.host.exec(["systemctl", "start", "limited.service"]);
    await eventually(async () => {
      expect(await property(session, "limited.service", "ActiveState")).toBe("failed");
    });
    // What the limit does: systemd would not start it, repaired or not.
    await session.host.writeFile("/run/repaired", "");
    const refused = await session.host.exec(["systemctl", "start", "limited.service"], { allowFailure: true });
    expect(refused.exitCode).not.toBe(0);
    expect(await session.api.restartService({ params: { name: "limited" }, query: { dry_run: true } })).toMatchObject({
      steps: ["reset the start limit of limited.service", "restart limited.service"],
    });
    expect(await property(session, "limited.service", "ActiveState")).toBe("failed");

    expect(await restart("limited")).toMatchObject({ success: true, running: true, restarts: 0 });
  });

  it("that goes over the start limit says so, and the next one starts the unit again", async () => {
    const limit = ["StartLimitIntervalSec=1h", "StartLimitBurst=2"];
    await session.writeUnits({ "eager.service": ["[Unit]", ...limit, ...sleeper] });
    await restart("eager");
    await restart("eager");
    const error = await refusal(restart("eager"));

    expect(error).toMatchObject({ status: 500, details: { job_result: "failed", active_state: "failed" } });
    expect(error.message).toContain("start-limit-hit");
    expect(await restart("eager")).toMatchObject({ success: true, running: true });
  });

  it("waits for a unit that takes its time", async () => {
    await session.writeUnits({ "slow.service": [...sleeper, "ExecStartPre=/bin/sleep 3"] });
    const startedAt = performance.now();

    expect(await restart("slow")).toMatchObject({ success: true, running: true });
    expect(performance.now() - startedAt).toBeGreaterThan(2_900);
  });

  it("goes on when its client goes away", async () => {
    await session.writeUnits({
      "left.service": [...sleeper, "ExecStartPre=/bin/sh -c 'until test -e /run/go-on; do sleep 0.1; done'"],
    });
    const pid = await session.service.pid();
    const client = new AbortController();
    const call = fetch(`${session.service.url}/api/v1/system/services/left/restart`, {
      method: "POST",
      headers: { "X-API-Key": session.service.adminKey },
      signal: client.signal,
    });
    const gone = expect(call).rejects.toThrow("aborted");
    await eventually(async () => {
      expect(await property(session, "left.service", "ActiveState")).toBe("activating");
    });
    client.abort();
    await gone;
    await session.shell("touch /run/go-on");

    await eventually(async () => {
      expect(await entry(session, "left.service")).toMatchObject({ running: true });
    });
    expect(await session.service.pid()).toBe(pid);
  });

  it("asked for by ten at once is answered truthfully to each", async () => {
    await session.writeUnits({ "busy.service": ["[Unit]", "StartLimitIntervalSec=0", ...sleeper] });
    const before = await pidOf("busy.service");
    const answers = await Promise.all(Array.from({ length: 10 }, () => restart("busy")));
    const after = await pidOf("busy.service");

    expect(after).not.toBe(before);
    for (const answer of answers) expect(answer).toMatchObject({ success: true, job_result: "done", running: true });
    expect(answers.map((answer) => answer.main_pid)).toContain(after);
  });

  it("reaches instances of templates, static and disabled units", async () => {
    const install = ["[Install]", "WantedBy=multi-user.target"];
    await session.writeUnits({
      "each@.service": sleeper,
      "static.service": sleeper,
      "off.service": [...sleeper, ...install],
    });

    // Of a template the service may restart what runs, and start nothing (see installed.host.test.ts).
    await session.host.exec(["systemctl", "start", "each@one.service"]);

    for (const [name, unitFileState] of [
      ["each@one.service", "static"],
      ["static.service", "static"],
      ["off.service", "disabled"],
    ] as const) {
      expect(await restart(name)).toMatchObject({ name, running: true, unit_file_state: unitFileState });
    }
  });

  it("by an alias reaches the unit that it names", async () => {
    await session.writeUnits({ "proper.service": sleeper });
    await session.shell("ln -s proper.service /etc/systemd/system/other.service; systemctl daemon-reload");
    const answer = await restart("other");

    expect(answer).toMatchObject({ success: true, name: "proper.service", running: true });
    expect(answer.main_pid).toBe(await pidOf("proper.service"));
  });

  it("that is a dry run restarts nothing", async () => {
    const before = await pidOf("cron.service");
    const plan = await session.api.restartService({ params: { name: "cron" }, query: { dry_run: true } });

    expect(plan).toEqual({
      dry_run: true,
      plan_token: expect.any(String),
      plan_expires_at: expect.any(String),
      steps: ["restart cron.service"],
      units: ["cron.service"],
      packages: [],
      bytes: 0,
      requires_reboot: false,
    });
    expect(await pidOf("cron.service")).toBe(before);
  });

  it("that takes longer than 25 s is answered before it is over", async () => {
    await session.writeUnits({ "endless.service": [...sleeper, "ExecStartPre=/bin/sleep 40"] });
    const error = await refusal(restart("endless"));

    expect(error).toMatchObject({ status: 500, details: { job_result: "running", active_state: "activating" } });
    await session.host.exec(["systemctl", "kill", "--signal=KILL", "endless.service"]);
  });
});
