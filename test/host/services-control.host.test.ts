import { describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { isRecord } from "#kernel/values.ts";
import { eventually } from "./support/eventually.ts";
import { createIntruder } from "./support/intruder.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property, sameAsSystemctl } from "./support/systemctl.ts";

const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];
const dryRun = { dry_run: true } as const;

describeOnHost("services are controlled", (session) => {
  const { shell } = session;
  const input = (name: string) => ({ params: { name } });
  const planOf = (name: string) => ({ params: { name }, query: dryRun });
  const activeState = (unit: string) => property(session, unit, "ActiveState");

  it("started, stopped and reloaded, as systemctl shows it", async () => {
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
  ] as const)("and a %s that fails says so", async (verb, lines, state) => {
    await session.writeUnits({ "faulty.service": ["[Service]", ...lines] });
    if (verb === "reload") await shell("systemctl start faulty");
    const calls = { start: session.api.startService, reload: session.api.reloadService };
    expect(await refusal(calls[verb](input("faulty")))).toMatchObject({
      status: 500,
      details: { job_result: "failed", active_state: state },
    });
    await shell("systemctl stop faulty");
  });

  describe("with what comes along", () => {
    const names = ["base", "needs-base", "part-of-base", "needs-needs", "rival", "unrelated"];

    it("as the dry run has said", async () => {
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

    it("and says which socket can start it again", async () => {
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
  });

  it("and refused where a restart is, each by its verb", async () => {
    for (const name of ["dbus", "systemd-logind", "user@0"])
      expect(await refusal(session.api.stopService(input(name)))).toMatchObject({
        status: 400,
        details: { setting: "services.allow" },
      });
    expect(await refusal(session.api.startService(input("debug-shell")))).toMatchObject({ status: 400 });
    expect(await refusal(session.api.startService(input("modprobe@loop")))).toMatchObject({ status: 400 });
    expect(await refusal(session.api.stopService(input("steward")))).toMatchObject({
      status: 400,
      message: expect.stringContaining("systemctl stop steward.service"),
    });
    await session.writeUnits({
      "no-stop.service": ["[Unit]", "RefuseManualStop=yes", ...sleeper],
      "no-start.service": ["[Unit]", "RefuseManualStart=yes", ...sleeper],
    });
    await session.api.startService(input("no-stop"));
    expect(await refusal(session.api.stopService(input("no-stop")))).toMatchObject({ status: 400 });
    expect(await refusal(session.api.startService(input("no-start")))).toMatchObject({ status: 400 });
  });

  it("and refused where a unit would stop that must not, however it is asked for", async () => {
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

  it("and their files not changed where systemd cannot write, with its reason", async () => {
    await session.writeUnits({ "fixed.service": [...sleeper, "[Install]", "WantedBy=multi-user.target"] });
    const folder = "/etc/systemd/system";
    await shell(`mount --bind ${folder} ${folder} && mount -o remount,bind,ro ${folder}`);
    const error = await refusal(session.api.enableService(input("fixed")));
    await shell(`umount ${folder}`);
    expect(error).toMatchObject({ status: 503, message: expect.stringMatching(/systemd refuses it now .*read-only/i) });
    expect(await session.api.enableService(input("fixed"))).toMatchObject({ enabled: true });
  });

  it("enabled, disabled and masked by root, as systemctl shows it", async () => {
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

  it("and their files refused where a restart is", async () => {
    expect(await refusal(session.api.maskService(input("dbus")))).toMatchObject({ status: 400 });
    expect(await refusal(session.api.enableService(input("debug-shell")))).toMatchObject({ status: 400 });
    expect(await refusal(session.api.disableService(input("steward")))).toMatchObject({ status: 400 });
    await session.writeUnits({ "static.service": sleeper });
    expect(await refusal(session.api.enableService(input("static")))).toMatchObject({
      message: expect.stringContaining("[Install]"),
    });
  });

  describe("with a confirmation", () => {
    const confirmed = (name: string) => ({ params: { name }, body: { confirm: true } });
    const mainPid = (unit: string) => property(session, unit, "MainPID");
    // logind of Debian 13 comes back to a restarted bus only with a restart of its own, which is the second.
    it.each([
      ["dbus", "takes the system bus from every program", "org.freedesktop.DBus / org.freedesktop.DBus GetId", /^s "/],
      [
        "systemd-logind",
        "graphical sessions end with it",
        "org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager ListSeats",
        /^a\(so\)/,
      ],
    ])("%s is restarted by root, and not without one", async (name, danger, call, reply) => {
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

    it("nothing is disabled or masked for good, whoever asks for it", async () => {
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

  it("by root where the settings permit what polkit does not", async () => {
    await session.writeUnits({ "debug-shell.service": sleeper });
    await session.host.startService({ config: "services: { allow: [debug-shell] }\n" });
    await session.service.restart();
    expect(await session.api.startService(input("debug-shell"))).toMatchObject({ running: true });
    expect(await session.api.stopService(input("debug-shell"))).toMatchObject({ active: false });
    expect(await activeState("debug-shell.service")).toBe("inactive");
  });

  it("by a key with a scope for one verb of one service", async () => {
    const { url } = session.service;
    const { key } = await session.api.createKey({ body: { name: "one", scopes: ["services:start:plain"] } });
    const client = createClient({ url, key });
    expect(await client.startService(input("plain"))).toMatchObject({ running: true });
    expect(await refusal(client.stopService(input("plain")))).toMatchObject({
      status: 403,
      details: { required_scope: "services:stop:plain.service" },
    });
    expect(await refusal(client.startService(input("cron")))).toMatchObject({ status: 403 });
    const set = await session.api.createKey({ body: { name: "set", scopes: ["services:control:plain"] } });
    expect(await createClient({ url, key: set.key }).stopService(input("plain"))).toMatchObject({ active: false });
  });
});
