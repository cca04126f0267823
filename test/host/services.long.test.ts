import { beforeAll, describe, expect, it } from "vitest";
import { asPlan } from "#cli/core/plan.ts";
import { ApiError, createClient } from "#client/index.ts";
import { permittedNames, protectedUnits } from "#domain/system/service-policy.ts";
import { isRecord } from "#kernel/values.ts";
import { backAgainMs, busOf, sleeper } from "./support/bus.ts";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property, sameAsSystemctl, sameUnitFiles } from "./support/systemctl.ts";

const failing = ["[Service]", "Type=oneshot", "ExecStart=/bin/false"];
const install = ["[Install]", "WantedBy=multi-user.target"];

describeOnHost("services of a host in unusual states", { checks: [] }, (session) => {
  const { shell } = session;
  const { systemctl, backAgain } = busOf(session);
  const restart = (name: string, isDryRun = false) =>
    session.api.restartService({ params: { name }, ...(isDryRun && { query: { dry_run: true } }) });
  const pidOf = async (unit: string) => Number(await property(session, unit, "MainPID"));

  describe("a restart", () => {
    it("that takes long holds up no other, however many callers wait for it", async () => {
      // systemd asks polkit about each of them, so they reach it one after the other and each begins it again.
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

    it.each([
      ["oneshot", ["Type=oneshot", "ExecStart=/bin/false"], "failed", "failed"],
      ["exec", ["Type=exec", "ExecStart=/opt/there-is-no-such-program"], "failed", "failed"],
      ["notify", ["Type=notify", "ExecStart=/bin/sleep infinity", "TimeoutStartSec=1"], "failed", "failed"],
      ["simple", ["Type=simple", "ExecStart=/bin/false"], "done", "failed"],
      ["again", ["ExecStart=/bin/false", "Restart=always", "RestartSec=60"], "done", "activating"],
      ["waiting", ["ExecStart=/bin/sleep infinity", "ExecStartPre=/bin/false"], "failed", "failed"],
    ])("of a unit that fails to start is an error: %s", async (type, service, jobResult, activeState) => {
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

    it("of a unit whose requirement fails is an error", async () => {
      await session.writeUnits({
        "requirement.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"],
        "requires.service": ["[Unit]", "Requires=requirement.service", "After=requirement.service", ...sleeper],
      });

      expect(await refusal(restart("requires.service"))).toMatchObject({
        status: 500,
        details: { job_result: "dependency", active_state: "inactive" },
      });
    });

    it("starts a unit again that its start limit stopped", async () => {
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
      expect(await session.api.restartService({ params: { name: "limited" }, query: { dry_run: true } })).toMatchObject(
        {
          steps: ["reset the start limit of limited.service", "restart limited.service"],
        },
      );
      expect(await property(session, "limited.service", "ActiveState")).toBe("failed");

      expect(await restart("limited")).toMatchObject({ success: true, running: true, restarts: 0 });
    });

    it("that exceeds the start limit is an error, and the next one starts the unit", async () => {
      const limit = ["StartLimitIntervalSec=1h", "StartLimitBurst=2"];
      await session.writeUnits({ "eager.service": ["[Unit]", ...limit, ...sleeper] });
      await restart("eager");
      await restart("eager");
      const error = await refusal(restart("eager"));

      expect(error).toMatchObject({ status: 500, details: { job_result: "failed", active_state: "failed" } });
      expect(error.message).toContain("start-limit-hit");
      expect(await restart("eager")).toMatchObject({ success: true, running: true });
    });

    it("continues when its client disconnects", async () => {
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
      await shell("touch /run/go-on");

      await eventually(async () => {
        expect(await entry(session, "left.service")).toMatchObject({ running: true });
      });
      expect(await session.service.pid()).toBe(pid);
    });

    it("of ten callers at once is answered truthfully to each", async () => {
      await session.writeUnits({ "busy.service": ["[Unit]", "StartLimitIntervalSec=0", ...sleeper] });
      const before = await pidOf("busy.service");
      const answers = await Promise.all(Array.from({ length: 10 }, () => restart("busy")));
      const after = await pidOf("busy.service");

      expect(after).not.toBe(before);
      for (const answer of answers) expect(answer).toMatchObject({ success: true, job_result: "done", running: true });
      expect(answers.map((answer) => answer.main_pid)).toContain(after);
    });

    it("is refused for a unit that may not be started or stopped by hand, or whose file is invalid", async () => {
      await session.writeUnits({
        "no-start.service": ["[Unit]", "RefuseManualStart=yes", ...sleeper],
        "no-stop.service": ["[Unit]", "RefuseManualStop=yes", ...sleeper],
        "no-command.service": ["[Service]", "Type=simple"],
        "relative.service": ["[Service]", "ExecStart=./here"],
        "nonsense.service": ["nonsense"],
      });
      await systemctl("start", "no-stop.service");
      for (const name of ["no-start", "no-stop", "no-command", "relative", "nonsense", "console-getty"])
        for (const isDryRun of [true, false])
          expect([name, await refusal(restart(name, isDryRun))]).toMatchObject([
            name,
            { status: 400, code: "VALIDATION_ERROR", details: { field: "name" } },
          ]);
    });
  });

  describe("the listing", () => {
    it("counts automatic restarts", async () => {
      await session.writeUnits({ "returns.service": [...sleeper, "Restart=always", "RestartSec=100ms"] });
      await systemctl("start", "returns.service");
      for (const restarts of [1, 2]) {
        await systemctl("kill", "--signal=KILL", "returns.service");
        await eventually(async () => {
          expect(await entry(session, "returns.service")).toMatchObject({ restarts, running: true });
        });
      }
      await sameAsSystemctl(session);
      await systemctl("restart", "returns.service");
      await sameAsSystemctl(session);

      expect((await entry(session, "returns.service"))?.restarts).toBe(0);
    });

    it("has a running unit whose file is removed, until it stops", async () => {
      await session.writeUnits({ "removed.service": sleeper });
      await systemctl("start", "removed.service");
      await sameAsSystemctl(session);
      await session.host.exec(["rm", "/etc/systemd/system/removed.service"]);
      // systemctl remembers the state of the file that is gone until the reload.
      await eventually(async () => {
        expect(await entry(session, "removed.service")).toMatchObject({ unit_file_state: "", running: true });
      });
      await systemctl("daemon-reload");
      await sameAsSystemctl(session);

      expect(await entry(session, "removed.service")).toMatchObject({ load_state: "not-found", running: true });

      await systemctl("stop", "removed.service");
      await sameAsSystemctl(session);

      expect(await entry(session, "removed.service")).toBeUndefined();
    });

    it("has transient units while they run", async () => {
      await session.host.exec(["systemd-run", "--quiet", "--unit=passing", "sleep", "infinity"]);
      await sameAsSystemctl(session);

      expect(await entry(session, "passing.service")).toMatchObject({ running: true, unit_file_state: "transient" });

      await systemctl("stop", "passing.service");
      await sameAsSystemctl(session);

      expect(await entry(session, "passing.service")).toBeUndefined();
    });

    it("is right after units came and went while systemd reloaded", async () => {
      const passing = shell("for i in $(seq 1 80); do systemd-run --quiet --collect true; done");
      const reloading = shell("for i in $(seq 1 12); do systemctl daemon-reload; done");
      let isOver = false;
      const over = Promise.all([passing, reloading]).finally(() => {
        isOver = true;
      });
      while (!isOver) {
        const { services } = await session.api.listServices({ query: { limit: 1000 } });
        expect(services).toContainEqual(expect.objectContaining({ name: "cron.service", running: true }));
      }
      await over;
      const services = await sameAsSystemctl(session);

      expect(services.filter(({ name }) => name.startsWith("run-"))).toEqual([]);
    });

    it("has instances with their own enablement", async () => {
      await session.writeUnits({ "each@.service": [...sleeper, ...install] });
      await systemctl("enable", "--now", "each@one.service");
      const others = Array.from({ length: 10 }, (_, i) => `each@${i}.service`);
      await systemctl("start", "each@two.service", ...others);
      await sameAsSystemctl(session);

      expect(await entry(session, "each@one.service")).toMatchObject({ enabled: true, running: true });
      expect(await entry(session, "each@two.service")).toMatchObject({ enabled: false, running: true });

      await systemctl("disable", "each@one.service");
      await systemctl("enable", "each@two.service");
      await sameAsSystemctl(session);

      expect((await entry(session, "each@one.service"))?.enabled).toBe(false);
      expect((await entry(session, "each@two.service"))?.enabled).toBe(true);
    });

    it("has an instance that is enabled and does not run", async () => {
      await session.writeUnits({
        "idle@.service": [...sleeper, ...install],
        "refers.service": ["[Unit]", "After=idle@here.service", ...sleeper],
      });
      await systemctl("enable", "idle@here.service");
      await systemctl("start", "refers.service");
      await sameAsSystemctl(session);

      expect(await entry(session, "idle@here.service")).toMatchObject({
        load_state: "loaded",
        unit_file_state: "enabled",
        active: false,
      });
    });
  });

  describe("after the system bus or the manager restarted", () => {
    /** Of what is open, sockets alone can be connections: files and threads of the traces come and go by themselves. */
    const openSockets = async (): Promise<number> => {
      const pid = await session.service.pid();
      return Number(await shell(`ls -l /proc/${pid}/fd | grep -c 'socket:'`));
    };

    /** A directory does not show that a file in it is another one; systemd alone says so, once it has read the file again. */
    const followsFiles = async (): Promise<void> => {
      for (const [text, state] of [
        ["[Unit]", "static"],
        ["[Install]\nWantedBy=multi-user.target", "disabled"],
      ]) {
        await session.host.writeFile("/etc/systemd/system/followed.target", `${text}\n`);
        await systemctl("daemon-reload");
        expect((await sameUnitFiles(session)).get("followed.target")).toBe(state);
      }
    };

    /** What the log says of each time that the bus was connected. */
    const connections = async (): Promise<number> =>
      (await session.service.logs()).split("\n").filter((line) => line.includes('"system bus connected"')).length;

    it("unit files are listed that changed while the bus was away", async () => {
      await session.writeUnits({ "followed.target": ["[Unit]"] });
      expect((await sameUnitFiles(session)).get("followed.target")).toBe("static");
      const known = await connections();
      await systemctl("stop", "dbus.socket", "dbus.service");
      await session.writeUnits({ "followed.target": ["[Install]", "WantedBy=multi-user.target"] });
      await systemctl("start", "dbus.socket", "dbus.service");
      await eventually(async () => expect(await connections()).toBeGreaterThan(known));
      await backAgain();

      expect((await sameUnitFiles(session)).get("followed.target")).toBe("disabled");
    });

    it.each(["daemon-reload", "daemon-reexec"])("the service continues: %s", async (verb) => {
      await session.host.writeFile(`/etc/systemd/system/after-${verb}.service`, `${sleeper.join("\n")}\n`);
      await systemctl(verb);
      await backAgain();
      await systemctl("start", `after-${verb}.service`);
      await sameAsSystemctl(session);
      await followsFiles();

      expect(await entry(session, `after-${verb}.service`)).toMatchObject({ running: true, load_state: "loaded" });
      expect(await session.api.restartService({ params: { name: "cron" } })).toMatchObject({ success: true });
    });

    it("the restarts of an idle unit are still known", async () => {
      await session.writeUnits({
        "counted.service": [...sleeper, "Restart=always", "RestartSec=50ms"],
        // Keeps the other one loaded.
        "refers.service": ["[Unit]", "After=counted.service", ...sleeper],
      });
      await systemctl("start", "refers.service", "counted.service");
      await systemctl("kill", "--signal=KILL", "counted.service");
      await eventually(async () => expect(await property(session, "counted.service", "NRestarts")).toBe("1"));
      await systemctl("stop", "counted.service");
      const known = await connections();
      await systemctl("restart", "dbus.service");
      await eventually(async () => expect(await connections()).toBeGreaterThan(known));
      await backAgain();
      await followsFiles();

      expect(await entry(session, "counted.service")).toMatchObject({
        load_state: "loaded",
        active: false,
        restarts: 1,
      });
    });

    it("no sockets of earlier connections stay open", async () => {
      await backAgain();
      const before = await openSockets();
      for (let round = 0; round < 20; round += 1) {
        const known = await connections();
        await systemctl("reset-failed", "dbus.service");
        await systemctl("restart", "dbus.service");
        // The later rounds come faster than the connection does.
        if (round < 5) await eventually(async () => expect(await connections()).toBeGreaterThan(known), backAgainMs);
      }
      await backAgain();

      await eventually(async () => expect(await openSockets()).toBeLessThanOrEqual(before));
    });
  });

  describe("a service whose unit file is linked from elsewhere", () => {
    const input = (name: string, query: { dry_run?: boolean } = {}) => ({ params: { name }, query });

    const link = async (name: string, { runtime = false, section = install } = {}): Promise<void> => {
      const lines = ["[Service]", "ExecStart=/bin/sleep infinity", ...section];
      await session.host.writeFile(`/opt/units/${name}.service`, `${lines.join("\n")}\n`);
      await shell(`systemctl link --quiet ${runtime ? "--runtime " : ""}/opt/units/${name}.service`);
    };
    /** What systemd has of a unit, apart from its name. */
    const stateOf = async (name: string): Promise<readonly string[]> => {
      const properties = ["LoadState", "UnitFileState", "FragmentPath"];
      const values = await Promise.all(properties.map((each) => property(session, `${name}.service`, each)));
      const links = await shell(
        `find /etc/systemd/system /run/systemd/system -name ${name}.service -printf '%h -> %l\\n' | sort`,
      );
      return [...values, links].map((text) => text.replaceAll(name, "NAME"));
    };
    const calls = {
      enable: (name: string) => session.api.enableService(input(name)),
      disable: (name: string) => session.api.disableService(input(name)),
      mask: (name: string) => session.api.maskService(input(name)),
      unmask: (name: string) => session.api.unmaskService(input(name)),
    } as const;

    it.each([
      ["for good", false],
      ["until the next boot", true],
    ])("has after each change the state that systemctl gives it, linked %s", async (_, runtime) => {
      const suffix = runtime ? "-runtime" : "";
      const [ours, theirs] = [`ours${suffix}`, `theirs${suffix}`];
      for (const name of [ours, theirs]) await link(name, { runtime });
      expect(await stateOf(ours)).toEqual(await stateOf(theirs));
      const verbs = ["mask", "unmask", "enable", "mask", "disable"] as const;
      for (const verb of verbs) {
        const isRefused = (await session.host.exec(["systemctl", verb, theirs], { allowFailure: true })).exitCode !== 0;
        if (isRefused)
          expect([verb, await refusal(calls[verb](ours))]).toEqual([verb, expect.objectContaining({ status: 400 })]);
        else expect([verb, await calls[verb](ours)]).toEqual([verb, expect.objectContaining({ success: true })]);
        expect([verb, await stateOf(ours)]).toEqual([verb, await stateOf(theirs)]);
      }
      if (!runtime) return;
      // What lasts until the next boot is disabled along with what lasts.
      await shell(`systemctl disable --quiet --runtime ${theirs}`);
      await session.api.disableService(input(ours));
      expect(await stateOf(ours)).toEqual(await stateOf(theirs));
      expect((await stateOf(ours))[0]).toBe("not-found");
    });

    it("is unknown once it is disabled, which plan and answer say", async () => {
      await link("only-linked");
      await session.api.startService(input("only-linked"));
      const plan = await session.api.disableService(input("only-linked", { dry_run: true }));
      expect(plan).toMatchObject({
        steps: expect.arrayContaining([
          expect.stringContaining(
            `remove its link /etc/systemd/system/only-linked.service to /opt/units/only-linked.service too`,
          ),
        ]),
      });
      await shell(`test -L /etc/systemd/system/only-linked.service`);
      expect(await session.api.disableService(input("only-linked"))).toMatchObject({
        changes: [{ type: "unlink", path: `/etc/systemd/system/only-linked.service`, target: "" }],
        running: true,
        message: expect.stringMatching(/it still runs; systemd no longer knows it/),
      });
      await session.api.stopService(input("only-linked"));
      expect(await refusal(session.api.enableService(input("only-linked")))).toMatchObject({ status: 404 });
      // As the message has it.
      await shell("systemctl link --quiet /opt/units/only-linked.service");
      expect(await session.api.enableService(input("only-linked"))).toMatchObject({ enabled: true });
    });
  });

  describe("protected units", () => {
    const state = (unit: string) => property(session, unit, "ActiveState");

    beforeAll(async () => {
      await session.writeUnits({
        "initrd-probe.service": sleeper,
        "told@.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/sh -c 'touch /root/told-%I'"],
        "aliased.service": [...sleeper, "[Install]", "Alias=debug-shell2.service initrd-alias.service"],
      });
      await shell(
        [
          "ln -s /lib/systemd/system/debug-shell.service /etc/systemd/system/harmless.service",
          "ln -s initrd-probe.service /etc/systemd/system/innocent.service",
          "systemctl enable aliased.service",
          "systemctl daemon-reload",
        ].join(" && "),
      );
    });

    it.each([
      ["harmless", "debug-shell.service"],
      ["innocent", "initrd-probe.service"],
      ["aliased", "initrd-alias.service"],
      ["initrd-alias", "initrd-alias.service"],
      ["told@evil", "told@evil.service"],
      ["modprobe@sctp", "modprobe@sctp.service"],
    ])("are not restarted under another name, nor as an instance that root has not started: %s", async (name, unit) => {
      for (const isDryRun of [true, false])
        expect(await refusal(restart(name, isDryRun))).toMatchObject({
          status: 400,
          code: "VALIDATION_ERROR",
          message: expect.stringContaining(unit),
          details: { field: "name", setting: "services.allow" },
        });
      expect(await state(unit)).toBe("inactive");
      expect(await shell("ls -d /root/told-* 2>/dev/null || true")).toBe("");
    });

    it("are those that polkit refuses, for each service of the host", async () => {
      const { services } = await session.api.listServices({ query: { limit: 1000 } });
      // Polkit gets a unit's own name, and aliased.service is protected by another.
      const units = services.map(({ name }) => name).filter((name) => !/@\.|^aliased\./.test(name));
      const pid = await session.service.pid();
      const check = `pkcheck --action-id org.freedesktop.systemd1.manage-units --process ${pid} --detail verb restart`;
      const list = units.map((name) => `'${name}'`).join(" ");
      const asked = await shell(
        `for n in ${list}; do ${check} --detail unit "$n" >/dev/null 2>&1 && echo yes || echo no; done`,
      );
      const byPolkit = asked.trim().split("\n");
      const answers: (readonly [name: string, ofPlan: string, ofPolkit: string | undefined])[] = [];
      for (const [index, name] of units.entries()) {
        const answer: unknown = await restart(name, true).catch((failure: unknown) => failure);
        const isOfPolicy = answer instanceof ApiError && answer.details?.["setting"] === "services.allow";
        // What cannot be restarted for other reasons (masked, or by dependency only) says nothing of the policy.
        if (answer instanceof Error && !isOfPolicy) continue;
        // What must be confirmed is done by root.
        const isPermitted = isRecord(answer) && !(answer instanceof Error) && answer["risk"] !== "risky";
        answers.push([name, isPermitted ? "yes" : "no", byPolkit[index]]);
      }
      expect(answers).toEqual(answers.map(([name, ofPlan]) => [name, ofPlan, ofPlan]));
      for (const answer of ["yes", "no"])
        expect(answers.filter(([, each]) => each === answer).length).toBeGreaterThan(10);
    });

    it("leave out safe parts of systemd, which restart without harm to the host", async () => {
      const names = protectedUnits.flatMap(permittedNames).filter((name) => !name.includes("*"));
      const running = await shell(
        `systemctl list-units --plain --no-legend --state=running ${names.map((name) => `${name}.service`).join(" ")}`,
      );
      const units = running
        .trim()
        .split("\n")
        .map((line) => line.split(/\s/)[0] ?? "");
      expect(units).toContain("systemd-journald.service");
      for (const name of units) {
        expect(await restart(name, true)).toMatchObject({ dry_run: true, units: [name] });
        expect(await restart(name)).toMatchObject({ success: true, running: true, job_result: "done" });
      }
      await shell("loginctl list-sessions; logger --tag probe written after the restart; journalctl --sync");
      expect(await shell("journalctl -o cat -t probe")).toBe("written after the restart\n");
      expect((await session.api.getHealth()).components).toMatchObject({ ops: true, cli: true });
    });

    it("are reset and started after their start limit where settings allow them", async () => {
      await session.host.writeFile("/etc/steward/config.yaml", "services: { allow: [initrd-probe] }\n");
      await session.service.restart();
      await session.writeUnits({
        "initrd-probe.service": ["[Unit]", "StartLimitIntervalSec=1h", "StartLimitBurst=1", ...failing],
      });
      await shell("systemctl restart initrd-probe.service || true; systemctl start initrd-probe.service || true");
      await session.writeUnits({ "initrd-probe.service": sleeper });
      expect(await restart("initrd-probe")).toMatchObject({ success: true, active: true });
    });
  });

  describe("the service itself", () => {
    /** The address that the service has listened on since, whichever start of it that was. */
    const latestUrl = async (): Promise<string> => {
      const log = await shell("journalctl --quiet --no-pager -o cat -u steward.service");
      return [...log.matchAll(/"url":"(http[^"]+)".*"msg":"listening"/g)].at(-1)?.[1] ?? "";
    };

    it("restarts after its answer, also under another name", async () => {
      await shell("ln -sf steward.service /etc/systemd/system/caretaker.service; systemctl daemon-reload");
      const key = session.service.adminKey;
      const url = await latestUrl();
      const before = await session.service.pid();
      const answer = await createClient({ url, key }).restartService({ params: { name: "caretaker" } });

      expect(answer).toMatchObject({ success: true, job_result: "pending", running: true, main_pid: before });
      await eventually(async () => {
        expect(await session.service.pid()).not.toBe(before);
        expect(await latestUrl()).not.toBe(url);
        const whoami = await createClient({ url: await latestUrl(), key }).whoami();
        expect(whoami).toMatchObject({ name: "admin" });
      });
      // It answers before it has notified systemd.
      await eventually(async () =>
        expect((await shell("systemctl is-failed steward.service || true")).trim()).toBe("active"),
      );
    });

    it("has a plan with its sockets, and a dry run restarts nothing", async () => {
      const before = await session.service.pid();
      const api = createClient({ url: await latestUrl(), key: session.service.adminKey });
      const { steps } = asPlan(await api.restartService({ params: { name: "steward" }, query: { dry_run: true } }));

      expect(steps.toSorted()).toEqual([
        "restart steward-root.socket, which requires steward.service or is part of it",
        "restart steward-task.socket, which requires steward.service or is part of it",
        "restart steward.service",
        "restart steward.socket, which requires steward.service or is part of it",
      ]);
      await api.getHealth();
      expect(await session.service.pid()).toBe(before);
    });
  });
});

describeOnHost("a service that runs as root", { user: "root", checks: [] }, (session) => {
  it("refuses to restart protected units too, which nothing else would prevent", async () => {
    for (const { names, reason } of protectedUnits.filter(({ isConfirmable }) => !isConfirmable)) {
      const name = (names[0] ?? "").replaceAll("*", "probe");
      const installed = await session.host.exec(["systemctl", "cat", `${name}.service`], { allowFailure: true });
      if (installed.exitCode !== 0) await session.writeUnits({ [`${name}.service`]: sleeper });
      expect([name, await refusal(session.api.restartService({ params: { name } }))]).toMatchObject([
        name,
        { status: 400, message: expect.stringContaining(reason), details: { setting: "services.allow" } },
      ]);
    }
  });
});
