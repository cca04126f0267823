import { describe, expect, it } from "vitest";
import { ApiError } from "#client/index.ts";
import { isRecord } from "#kernel/values.ts";
import { busOf, sleeper } from "./support/bus.ts";
import { eventually } from "./support/eventually.ts";
import { createIntruder } from "./support/intruder.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property, sameAsSystemctl } from "./support/systemctl.ts";

describeOnHost("what the service changes of a host", { checks: [] }, (session) => {
  const { shell } = session;
  const input = (name: string) => ({ params: { name } });
  const planOf = (name: string) => ({ params: { name }, query: { dry_run: true } as const });
  const activeState = (unit: string) => property(session, unit, "ActiveState");
  const mainPid = (unit: string) => property(session, unit, "MainPID");

  it("a service is started, reloaded and stopped as systemctl shows it", async () => {
    await session.writeUnits({ "plain.service": [...sleeper, "ExecReload=/usr/bin/touch /run/plain-reloaded"] });
    expect(await session.api.startService(input("plain"))).toEqual({
      ...(await entry(session, "plain.service")),
      running: true,
      success: true,
      message: "plain.service started",
      job_result: "done",
    });
    expect(await session.api.startService(input("plain"))).toMatchObject({ job_result: "" });
    expect(await session.api.reloadService(input("plain"))).toMatchObject({ message: "plain.service reloaded" });
    await shell("test -e /run/plain-reloaded");
    expect(await session.api.stopService(input("plain"))).toMatchObject({ active: false, job_result: "done" });
    expect(await activeState("plain.service")).toBe("inactive");
    expect(await session.api.stopService(input("plain"))).toMatchObject({ job_result: "" });
  });

  it.each([
    ["start", ["Type=oneshot", "ExecStart=/bin/false"], "failed"],
    ["reload", ["ExecStart=/bin/sleep infinity", "ExecReload=/bin/false"], "active"],
  ] as const)("a %s that fails is an error with the result of its job", async (verb, lines, state) => {
    await session.writeUnits({ "faulty.service": ["[Service]", ...lines] });
    if (verb === "reload") await shell("systemctl start faulty");
    const calls = { start: session.api.startService, reload: session.api.reloadService };
    expect(await refusal(calls[verb](input("faulty")))).toMatchObject({
      status: 500,
      details: { job_result: "failed", active_state: state },
    });
    await shell("systemctl stop faulty");
  });

  it("units that start and stop along with another are those of its dry run", async () => {
    const names = ["base", "needs-base", "part-of-base", "needs-needs", "rival", "unrelated"];
    await session.writeUnits({
      "base.service": ["[Unit]", "Conflicts=rival.service", ...sleeper],
      "needs-base.service": ["[Unit]", "Requires=base.service", ...sleeper],
      "needs-needs.service": ["[Unit]", "BindsTo=needs-base.service", ...sleeper],
      "part-of-base.service": ["[Unit]", "PartOf=base.service", ...sleeper],
      "rival.service": sleeper,
      "unrelated.service": ["[Unit]", "Wants=base.service", ...sleeper],
    });
    const active = async () => {
      const states = await Promise.all(names.map((name) => activeState(`${name}.service`)));
      return names.filter((_, index) => states[index] === "active").map((name) => `${name}.service`);
    };
    await shell("systemctl start rival");
    const started = await session.api.startService(planOf("needs-needs"));
    expect(started).toMatchObject({
      units: ["needs-needs.service", "needs-base.service", "base.service", "rival.service"],
    });
    await session.api.startService(input("needs-needs"));
    await eventually(async () => {
      expect(await active()).toEqual(["base.service", "needs-base.service", "needs-needs.service"]);
    });

    await shell("systemctl start part-of-base unrelated");
    const along = ["base", "needs-base", "needs-needs", "part-of-base"].map((name) => `${name}.service`);
    const planned: unknown = await session.api.stopService(planOf("base"));
    expect(planned).toMatchObject({ units: expect.arrayContaining(along) });
    expect(isRecord(planned) && planned["units"]).toHaveLength(along.length);
    await session.api.stopService(input("base"));
    await eventually(async () => {
      expect(await active()).toEqual(["unrelated.service"]);
    });
  });

  it("the plan of a stop names the socket that can start the service again", async () => {
    await session.writeUnits({
      "called.socket": ["[Socket]", "ListenStream=/run/called.sock"],
      "called.service": ["[Service]", "ExecStart=/bin/sleep infinity", "StandardInput=null"],
    });
    await shell("systemctl start called.socket called.service");
    expect(await session.api.stopService(planOf("called"))).toMatchObject({
      units: ["called.service"],
      reason: "called.socket can start called.service again",
    });
  });

  it("a start or stop that would also stop a protected unit is refused", async () => {
    await session.writeUnits({
      "against-logind.service": ["[Unit]", "Conflicts=systemd-logind.service", ...sleeper],
      "against-steward.service": ["[Unit]", "Conflicts=steward.service", ...sleeper],
      "under-steward.service": sleeper,
      "steward.service.d/under.conf": ["[Unit]", "PartOf=under-steward.service"],
    });
    await shell("systemctl start under-steward systemd-logind");
    const logind = "it would also stop systemd-logind.service: Steward protects";
    expect(await refusal(session.api.startService(input("against-logind")))).toMatchObject({
      status: 400,
      message: expect.stringContaining(logind),
      details: { field: "confirm" },
    });
    expect(await session.api.startService(planOf("against-logind"))).toMatchObject({
      units: ["against-logind.service", "systemd-logind.service"],
      risk: "risky",
    });
    for (const [verb, name, reason] of [
      ["start", "against-steward", "it would also stop steward.service, which is this service"],
      ["stop", "under-steward", "it would also stop steward.service, which is this service"],
    ] as const) {
      const calls = { start: session.api.startService, stop: session.api.stopService };
      for (const asked of [input(name), planOf(name)])
        expect(await refusal(calls[verb](asked))).toMatchObject({
          status: 400,
          message: expect.stringContaining(reason),
        });
    }
    expect(await activeState("systemd-logind.service")).toBe("active");
    await session.writeUnits({ "steward.service.d/under.conf": [] });
  });

  it("enabling on a read-only file system is refused with the reason of systemd", async () => {
    await session.writeUnits({ "fixed.service": [...sleeper, "[Install]", "WantedBy=multi-user.target"] });
    const directory = "/etc/systemd/system";
    await shell(`mount --bind ${directory} ${directory} && mount -o remount,bind,ro ${directory}`);
    const error = await refusal(session.api.enableService(input("fixed")));
    await shell(`umount ${directory}`);
    expect(error).toMatchObject({ status: 503, message: expect.stringMatching(/systemd refuses it now .*read-only/i) });
    expect(await session.api.enableService(input("fixed"))).toMatchObject({ enabled: true });
  });

  it("a service is enabled, disabled and masked as systemctl shows it", async () => {
    const install = ["[Install]", "WantedBy=multi-user.target"];
    await session.writeUnits({ "listed.service": [...sleeper, ...install] });
    const fileState = () => property(session, "listed.service", "UnitFileState");
    const link = "/etc/systemd/system/multi-user.target.wants/listed.service";
    expect(await session.api.enableService(input("listed"))).toMatchObject({
      enabled: true,
      active: false,
      changes: [{ type: "symlink", path: link, target: "/etc/systemd/system/listed.service" }],
    });
    expect(await fileState()).toBe("enabled");
    await shell(`test -L ${link}`);
    expect(await session.api.enableService(input("listed"))).toMatchObject({ changes: [] });
    expect(await session.api.disableService(input("listed"))).toMatchObject({
      enabled: false,
      changes: [{ type: "unlink", path: link, target: "" }],
    });
    expect(await fileState()).toBe("disabled");
    // systemd does not put a link in the place of a file: foreseen in the plan, too.
    for (const query of [{}, { dry_run: true }])
      expect(await refusal(session.api.maskService({ ...input("listed"), query }))).toMatchObject({
        status: 400,
        message: expect.stringMatching(
          /^cannot mask listed.service: its unit file is \/etc\/systemd\/system\/listed.service, .*\(stop and disable it instead, or move/,
        ),
      });
    // As its remedy has it.

    await shell(
      "mkdir -p /usr/local/lib/systemd/system && mv /etc/systemd/system/listed.service /usr/local/lib/systemd/system/ && systemctl daemon-reload",
    );
    expect(await session.api.maskService(input("listed"))).toMatchObject({ unit_file_state: "masked" });
    expect(await refusal(session.api.startService(input("listed")))).toMatchObject({
      status: 400,
      details: { issue: "unit is masked" },
    });
    expect(await session.api.unmaskService(input("listed"))).toMatchObject({ unit_file_state: "disabled" });
    await shell("systemctl mask --runtime listed");
    expect(await session.api.unmaskService(input("listed"))).toMatchObject({ unit_file_state: "disabled" });
    expect(await session.api.startService(input("listed"))).toMatchObject({ running: true });
    expect((await session.api.listServices({ query: { limit: 1000 } })).services).toContainEqual(
      expect.objectContaining({ name: "listed.service", unit_file_state: "disabled" }),
    );
  });

  describe("protected units", () => {
    const confirmed = (name: string) => ({ params: { name }, body: { confirm: true } });
    // logind of Debian 13 comes back to a restarted bus only with a restart of its own, which is the second.
    it.each([
      ["dbus", "takes the system bus from every program", "org.freedesktop.DBus / org.freedesktop.DBus GetId", /^s "/],
      [
        "systemd-logind",
        "graphical sessions end with it",
        "org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager ListSeats",
        /^a\(so\)/,
      ],
    ])("%s is restarted with a confirmation only", async (name, danger, call, reply) => {
      const unit = `${name}.service`;
      await shell(`systemctl start ${unit}`);
      const before = await mainPid(unit);
      expect(await refusal(session.api.restartService(input(name)))).toMatchObject({
        status: 400,
        details: { field: "confirm", issue: "Must be true" },
        message: expect.stringContaining(danger),
      });
      expect(await session.api.restartService(planOf(name))).toMatchObject({
        units: expect.arrayContaining([unit]),
        risk: "risky",
        reason: expect.stringContaining(danger),
      });
      expect(await mainPid(unit)).toBe(before);

      const answer = await session.api.restartService(confirmed(name));
      expect(answer).toMatchObject({ name: unit, success: true, running: true, job_result: "done" });
      expect(String(answer.main_pid)).not.toBe(before);
      expect(await mainPid(unit)).toBe(String(answer.main_pid));
      expect(await shell(`busctl call ${call}`)).toMatch(reply);
      const { entries } = await session.api.listAudit({ query: { operation: "root.requested", limit: 1 } });
      expect(entries[0]?.target).toMatchObject({ request: "services.restart" });
      // The service has its own connection to the bus.
      await sameAsSystemctl(session);
      await shell("systemctl start cron");
      expect(await session.api.restartService(input("cron"))).toMatchObject({ job_result: "done" });
    });

    it("dbus and logind are never disabled or masked, also not by a forged request", async () => {
      const { url, adminKey: key } = session.service;
      const { request } = createIntruder(session);
      for (const name of ["dbus", "systemd-logind"])
        for (const verb of ["disable", "mask"]) {
          const path = `${url}/api/v1/system/services/${name}/${verb}`;
          const headers = { "X-API-Key": key, "Content-Type": "application/json" };
          for (const body of [{}, { confirm: true }])
            for (const query of ["", "?dry_run=true"]) {
              const reply = await fetch(path + query, { method: "POST", headers, body: JSON.stringify(body) });
              expect([name, verb, reply.status]).toEqual([name, verb, 400]);
            }
          for (const asked of [{}, { confirm: true }])
            expect(await request(`services.${verb}`, { name: `${name}.service`, ...asked })).toHaveProperty("error");
          expect([name, await property(session, `${name}.service`, "UnitFileState")]).toEqual([name, "static"]);
        }
    });
  });

  const shown = async (name: string): Promise<string> =>
    (await shell(`timedatectl show --value --property=${name}`)).trim();
  const isYes = async (name: string): Promise<boolean> => (await shown(name)) === "yes";

  it("time and name of the host are those of timedatectl and hostnamectl", async () => {
    expect(await session.api.getTime()).toMatchObject({
      timezone: await shown("Timezone"),
      ntp: await isYes("NTP"),
      ntp_available: await isYes("CanNTP"),
      ntp_synchronized: await isYes("NTPSynchronized"),
      rtc_in_local_time: await isYes("LocalRTC"),
    });
    expect(await session.api.getHostname()).toMatchObject({
      hostname: (await shell("uname -n")).trim(),
      static_hostname: (await shell("hostnamectl --static")).trim(),
    });
  });

  it("the time zone is planned and changed once, to one that exists", async () => {
    const before = await shown("Timezone");
    const body = { timezone: "Asia/Kathmandu" };
    const plan = await session.api.setTime({ query: { dry_run: true }, body });
    expect(plan).toMatchObject({ steps: [`change the time zone from ${before} to Asia/Kathmandu`] });
    expect(await shown("Timezone")).toBe(before);
    expect(await session.api.setTime({ body })).toMatchObject({ timezone: "Asia/Kathmandu", changed: ["timezone"] });
    expect([await shown("Timezone"), (await shell("date +%z")).trim()]).toEqual(["Asia/Kathmandu", "+0545"]);
    expect(await session.api.setTime({ body })).toMatchObject({ changed: [] });
    expect(await refusal(session.api.setTime({ body: { timezone: "Asia/Nowhere" } }))).toMatchObject({ status: 400 });
    const { entries } = await session.api.listAudit({ query: { operation: "setTime", limit: 10 } });
    expect(entries.map(({ dry_run: isDry, status }) => [isDry, status])).toContainEqual([false, 200]);
    await session.api.setTime({ body: { timezone: before } });
  });

  it("time synchronization is switched where there is a time service, and refused where there is none", async () => {
    const { ntp_available: isThere, ntp } = await session.api.getTime();
    if (isThere) {
      expect(await session.api.setTime({ body: { ntp: !ntp } })).toMatchObject({ changed: ["ntp"] });
      await eventually(async () => expect(await isYes("NTP")).toBe(!ntp));
      await session.api.setTime({ body: { ntp } });
      await eventually(async () => expect(await isYes("NTP")).toBe(ntp));
    } else {
      expect(await refusal(session.api.setTime({ body: { ntp: true } }))).toMatchObject({
        status: 503,
        details: { missing: "time service" },
      });
    }
  });

  it("the host is renamed, now and for each boot", async () => {
    const { hostname: before } = await session.api.getHostname();
    const body = { hostname: "renamed.example.org", pretty: "Renamed ⚙ $(id)" };
    expect(await session.api.setHostname({ body })).toMatchObject({
      hostname: body.hostname,
      static_hostname: body.hostname,
      pretty_hostname: body.pretty,
    });
    expect(await shell("uname -n; cat /etc/hostname; hostnamectl --pretty")).toBe(
      `${body.hostname}\n${body.hostname}\n${body.pretty}\n`,
    );
    expect(await session.api.setHostname({ body })).toMatchObject({ changed: [] });
    await session.api.setHostname({ body: { hostname: before, pretty: "" } });
  });

  it("time and name are unavailable while timedated and hostnamed are masked", async () => {
    const units = "systemd-hostnamed.service systemd-timedated.service";
    await shell(`systemctl stop ${units}; systemctl mask --quiet ${units}`);
    try {
      for (const [ask, missing] of [
        [session.api.getTime, "systemd-timedated"],
        [session.api.getHostname, "systemd-hostnamed"],
      ] as const)
        expect(await refusal(ask())).toMatchObject({ status: 503, details: { missing, retryable: true } });
    } finally {
      await shell(`systemctl unmask --quiet ${units}`);
    }
  });

  describe("a signal", () => {
    const send = async (pid: number, signal: "TERM" | "KILL" | "USR1" | "STOP" | "CONT", dryRun = false) => {
      // A list may be a second old, and not yet have what has just started.
      const found = await eventually(async () => {
        const [process] = (await session.api.listProcesses({ query: { pid } })).processes;
        if (process === undefined) throw new Error(`process ${pid} is not listed`);
        return process;
      });
      return session.api.signalProcess({
        params: { pid },
        query: { dry_run: dryRun },
        body: { signal, start_time: found.start_time },
      });
    };

    it("reaches the process that was meant, and no other one", async () => {
      await session.writeUnits({
        "listens.service": [
          "[Service]",
          "Restart=always",
          'ExecStart=/bin/sh -c \'trap "touch /run/got-usr1" USR1; trap "touch /run/got-term; exit 0" TERM; while :; do sleep 0.1; done\'',
        ],
      });
      await shell("systemctl start listens");
      const pid = Number(await mainPid("listens.service"));
      expect(await send(pid, "TERM", true)).toMatchObject({
        units: ["listens.service"],
        reason: expect.stringContaining("Restart=always"),
      });
      expect(await send(pid, "USR1")).toMatchObject({ success: true, has_ended: false, unit: "listens.service" });
      await eventually(() => shell("test -e /run/got-usr1"));
      await send(pid, "STOP");
      await eventually(async () =>
        expect(await session.api.listProcesses({ query: { pid } })).toMatchObject({
          processes: [{ state: "stopped" }],
        }),
      );
      await send(pid, "CONT");
      expect(await send(pid, "TERM")).toMatchObject({ has_ended: true });
      await shell("test -e /run/got-term");
      const other = await eventually(async () => {
        const now = Number(await mainPid("listens.service"));
        expect([0, pid]).not.toContain(now);
        return now;
      });
      const wrong = { params: { pid: other }, body: { signal: "KILL", start_time: "2020-01-01T00:00:00Z" } } as const;
      expect(await refusal(session.api.signalProcess(wrong))).toMatchObject({ status: 409 });
      expect(Number(await mainPid("listens.service"))).toBe(other);
    });

    it("is refused for the first process, the system bus and the service itself, with the reason", async () => {
      for (const [pid, reason] of [
        [1, "init process"],
        [Number(await mainPid("dbus.service")), "system bus"],
        [await session.service.pid(), "this service"],
      ] as const)
        expect(await refusal(send(pid, "KILL"))).toMatchObject({
          status: 400,
          message: expect.stringContaining(reason),
        });
    });
  });

  describe("while the system bus restarts", () => {
    const { systemctl, backAgain } = busOf(session);

    it("a request that comes before the bus waits for it", async () => {
      await systemctl("stop", "dbus.socket", "dbus.service");
      await systemctl("reset-failed", "steward.service");
      await session.service.restart();
      const restarted = session.api.restartService({ params: { name: "cron" } });
      const listed = session.api.listServices();
      const both = Promise.all([restarted, listed]);
      await Promise.all([both, systemctl("start", "dbus.socket")]);

      expect(await restarted).toMatchObject({ job_result: "done", running: true });
      expect((await listed).total).toBeGreaterThan(100);
      await backAgain();
    });

    it("the same process has the bus again, and restarts units", async () => {
      const pid = await session.service.pid();
      await systemctl("restart", "dbus.service");
      await backAgain();

      expect(await session.service.pid()).toBe(pid);
      expect(await session.api.restartService({ params: { name: "cron" } })).toMatchObject({ job_result: "done" });
    });

    it("answers are unavailable, and what changed meanwhile is listed afterwards", async () => {
      await session.writeUnits({ "meanwhile.service": sleeper, "ended.service": sleeper });
      await systemctl("start", "ended.service");
      await sameAsSystemctl(session);
      await systemctl("stop", "dbus.socket", "dbus.service");
      await eventually(async () => {
        expect(await session.api.getHealth()).toMatchObject({
          status: "unhealthy",
          components: { ops: false, cli: true },
        });
      });

      const error = await refusal(session.api.listServices());
      expect(error).toMatchObject({
        status: 503,
        code: "UNAVAILABLE",
        details: { missing: "systemd", retryable: true },
      });
      expect(await refusal(session.api.restartService({ params: { name: "cron" } }))).toMatchObject({
        status: 503,
        code: "UNAVAILABLE",
        details: { retryable: true },
      });
      expect(await session.api.getSystemInfo()).toMatchObject({ hostname: "steward-testhost" });

      await systemctl("start", "meanwhile.service");
      await systemctl("stop", "ended.service");
      await session.writeUnits({ "written.service": sleeper });
      await systemctl("start", "dbus.socket");
      await backAgain();

      expect(await entry(session, "meanwhile.service")).toMatchObject({ running: true });
      expect(await entry(session, "ended.service")).toMatchObject({ active: false });
      expect(await entry(session, "written.service")).toMatchObject({ unit_file_state: "static" });
    });

    it("a restart of a unit is answered, and never as done before the unit is up", async () => {
      await session.writeUnits({
        "cut.service": [...sleeper, "ExecStartPre=/bin/sh -c 'until test -e /run/go-on; do sleep 0.1; done'"],
      });
      let isSuccess = false;
      const answer = session.api.restartService({ params: { name: "cut" } }).then(
        ({ success }) => {
          isSuccess = success;
          return { success, status: 200 };
        },
        (error: unknown) => ({ success: false, status: error instanceof ApiError ? error.status : 0 }),
      );
      await eventually(async () => {
        expect(await property(session, "cut.service", "ActiveState")).toBe("activating");
      });
      await systemctl("restart", "dbus.service");
      await backAgain();
      expect(isSuccess).toBe(false);
      await session.shell("touch /run/go-on");
      const answered = await answer;

      expect([
        { success: true, status: 200 },
        { success: false, status: 503 },
      ]).toContainEqual(answered);
      if (answered.success) expect(await property(session, "cut.service", "ActiveState")).toBe("active");
      await eventually(async () => expect(await entry(session, "cut.service")).toMatchObject({ running: true }));
    });
  });

  it("a unit that settings allow is started although polkit refuses it", async () => {
    await session.writeUnits({ "debug-shell.service": sleeper });
    await session.host.startService({ config: "services: { allow: [debug-shell] }\n" });
    await session.service.restart();
    expect(await session.api.startService(input("debug-shell"))).toMatchObject({ running: true });
    expect(await session.api.stopService(input("debug-shell"))).toMatchObject({ active: false });
    expect(await activeState("debug-shell.service")).toBe("inactive");
  });
});
