import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createLiveUnits } from "#adapters/systemd/live.ts";
import { createClient } from "#client/index.ts";
import { defaultServicePolicy } from "#domain/system/service-policy.ts";
import { timersSuite } from "../ports/timers.suite.ts";
import { unitDetailsSuite } from "../ports/unit-details.suite.ts";
import { failedUnitsSuite, unitsSuite } from "../ports/units.suite.ts";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property, sameAsSystemctl, sameUnitFiles } from "./support/systemctl.ts";

const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];

describeOnHost("units of a host", { checks: ["systemd_failed"] }, (session) => {
  const { shell } = session;
  const show = (name: string, query = {}) => session.api.getService({ params: { name }, query });
  const connect = async () =>
    createLiveUnits({
      clock: systemClock,
      policy: defaultServicePolicy,
      socket: await session.host.busSocket(),
      onStateChange: () => undefined,
    });

  describe("the listing of services", () => {
    it("is the one of systemctl, field by field", async () => {
      const services = await sameAsSystemctl(session);

      expect(services.length).toBeGreaterThan(100);
      expect(services.filter(({ running }) => running).map(({ name }) => name)).toContain("cron.service");
    });

    it("has the loaded services of systemctl list-units, without names of units that do not exist", async () => {
      await session.writeUnits({
        "refers.service": ["[Unit]", "After=nowhere.service", "[Service]", "ExecStart=/bin/sleep infinity"],
        "vanishes.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
      });
      await shell("systemctl start refers.service vanishes.service; rm /etc/systemd/system/vanishes.service");
      await session.host.exec(["systemctl", "daemon-reload"]);
      await eventually(async () => {
        const printed = await shell("systemctl list-units --all --type=service --plain --no-legend");
        const rows = printed
          .trimEnd()
          .split("\n")
          .map((line) => line.trim().split(/\s+/));
        const missing = rows.filter(([, load, active]) => load === "not-found" && active === "inactive");
        expect(missing.map(([name]) => name)).toContain("nowhere.service");
        const { services } = await session.api.listServices({ query: { limit: 1000 } });
        const loaded = services.filter(({ load_state: state }) => state !== "");
        expect(
          loaded.map(({ name, load_state, active_state, sub_state }) => [name, load_state, active_state, sub_state]),
        ).toEqual(rows.filter((row) => !missing.includes(row)).map((row) => row.slice(0, 4)));
        expect(services.map(({ name }) => name)).not.toContain("nowhere.service");
      });
      // Its file is gone, and it runs.
      expect(await entry(session, "vanishes.service")).toMatchObject({ load_state: "not-found", running: true });
    });

    it("has a service with an alias once, and so does the check of failed units", async () => {
      await session.writeUnits({ "fails.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"] });
      await shell(
        "ln -s fails.service /etc/systemd/system/breaks.service; systemctl daemon-reload; systemctl start breaks.service || true",
      );
      await sameAsSystemctl(session);
      const failed = await session.api.listServices({ query: { status: "failed" } });
      const check = await session.api.getCheck({ params: { check_id: "systemd_failed" } });

      expect(failed.services.map(({ name }) => name)).toContain("fails.service");
      expect(await entry(session, "breaks.service")).toBeUndefined();
      expect(check.details).toMatchObject({
        units: failed.services.map(({ name }) => expect.objectContaining({ name })),
      });
      await shell("systemctl reset-failed fails.service");
    });

    it("has a service whose unit file is linked from elsewhere under another name", async () => {
      await session.host.writeFile("/opt/elsewhere.service", "[Service]\nExecStart=/bin/sleep infinity\n");
      await shell("ln -s /opt/elsewhere.service /etc/systemd/system/linked.service; systemctl daemon-reload");
      await sameAsSystemctl(session);

      expect(await entry(session, "linked.service")).toMatchObject({ active: false, load_state: "" });

      await session.host.exec(["systemctl", "start", "linked.service"]);
      await sameAsSystemctl(session);

      expect(await entry(session, "linked.service")).toMatchObject({ running: true });
      await shell("systemctl disable --now --quiet linked.service; rm -f /etc/systemd/system/linked.service");
      await session.host.exec(["systemctl", "daemon-reload"]);
    });

    it.each([
      ["markup", `<script>alert("1")</script> & 'quotes' \`ticks\``],
      ["unicode", "Größe 日本語 🚀 e\u0301"],
      ["2000 characters", "long ".repeat(400).trim()],
      ["a specifier", "fifty %% of %%n"],
    ])("has a description with %s unchanged", async (_, description) => {
      await session.writeUnits({ "described.service": ["[Unit]", `Description=${description}`, ...sleeper] });
      await session.host.exec(["systemctl", "restart", "described.service"]);
      await sameAsSystemctl(session);
      expect((await entry(session, "described.service"))?.description).toBe(description.replaceAll("%%", "%"));
    });

    it("is not sent again to a client that has it, until a service changes", async () => {
      const { url, adminKey } = session.service;
      const ask = (tag: string) =>
        fetch(`${url}/api/v1/system/services`, { headers: { "X-API-Key": adminKey, "If-None-Match": tag } });
      const tagOf = ({ headers }: Response): string => headers.get("ETag") ?? "no tag";
      // Whatever else starts or ends on the host meanwhile changes the list as well.
      const known = await eventually(async () => {
        const tag = tagOf(await ask("none"));
        const again = await ask(tag);
        expect([again.status, await again.text()]).toEqual([304, ""]);
        return tag;
      });
      await shell("systemctl restart cron.service");
      await eventually(async () => expect((await ask(known)).status).toBe(200));
    });

    it("asks the bus nothing for a list that has not changed", async () => {
      const pid = await session.service.pid();
      const names = JSON.parse(await shell("busctl list --unique --json=short")) as {
        name: string;
        pid: number | null;
      }[];
      const sender = names.find((row) => row.pid === pid)?.name ?? "";
      expect(sender).toMatch(/^:/);
      const listen = ["busctl", "monitor", "--json=short", `--match=sender='${sender}'`];
      const output = "--property=StandardOutput=file:/run/listener.log";
      await session.host.exec(["systemd-run", "--quiet", "--unit=listener", output, ...listen]);
      await sameAsSystemctl(session);
      const heard = async (): Promise<readonly string[]> => {
        const lines = (await session.host.readFile("/run/listener.log")).trim().split("\n");
        return lines.filter((line) => line.includes('"member":'));
      };
      const isAbout = (text: string): unknown => expect.arrayContaining([expect.stringContaining(text)]);
      // A question that must be asked shows that the listener hears.
      const ask = () => session.api.restartService({ params: { name: "cron" }, query: { dry_run: true } });
      await eventually(async () => {
        await ask();
        expect(await heard()).toEqual(isAbout('"LoadUnit"'));
      });
      const before = (await heard()).length;
      for (let i = 0; i < 50; i += 1) await session.api.listServices({ query: { limit: 1000 } });
      await ask();
      const questions = await eventually(async () => {
        const asked = (await heard()).slice(before);
        expect(asked).toEqual(isAbout('"LoadUnit"'));
        return asked;
      });

      // Unit files may have to be inspected again, once, and a unit that appears meanwhile is asked about by its name.
      expect(questions.length).toBeLessThan(20);
      expect(questions).not.toEqual(isAbout('"*.service"'));
      await session.host.exec(["systemctl", "stop", "listener.service"]);
    });
  });

  describe("by the port on the real manager", () => {
    unitsSuite(async () => {
      await session.writeUnits({
        "suite-running.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
        "suite-failing.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"],
        "suite-masked.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
        "suite-refused.service": ["[Unit]", "RefuseManualStart=yes", "[Service]", "ExecStart=/bin/sleep infinity"],
      });
      await shell("rm /etc/systemd/system/suite-masked.service && systemctl mask suite-masked.service");
      await shell("systemctl start suite-running.service");
      const units = await connect();
      return {
        units,
        running: "suite-running.service",
        failing: "suite-failing.service",
        masked: "suite-masked.service",
        refused: "suite-refused.service",
        dispose: () => Promise.resolve(units.dispose()),
      };
    });
  });

  const oneshot = ["[Service]", "Type=oneshot", "RemainAfterExit=yes"];
  const mount = ["[Mount]", "What=box", "Where=/mnt/box", "Type=tmpfs"];
  const makeFail = async (): Promise<void> => {
    await session.writeUnits({
      "good.service": [...oneshot, "ExecStart=/usr/bin/test -e /run/good"],
      "bad.service": [...oneshot, "ExecStart=/bin/false"],
      "mnt-box.mount": [...mount, "Options=nonsense=1"],
      "far.socket": ["[Socket]", "ListenStream=192.0.2.200:9"],
      "far.service": ["[Service]", "ExecStart=/bin/true"],
    });
    await shell("systemctl start good.service bad.service mnt-box.mount far.socket || true");
  };

  it("failed units of every kind are listed by the port", async () => {
    const units = await connect();
    try {
      await shell("systemctl reset-failed");
      expect(await units.failed()).toEqual([]);
      await makeFail();
      expect(await units.failed()).toEqual([
        { name: "bad.service", result: "exit-code" },
        { name: "far.socket", result: "resources" },
        { name: "good.service", result: "exit-code" },
        { name: "mnt-box.mount", result: "exit-code" },
      ]);
    } finally {
      units.dispose();
    }
  });

  describe("failed units by the port on the real manager", () => {
    failedUnitsSuite(async () => {
      await makeFail();
      await session.writeUnits({ "mnt-box.mount": mount });
      await shell("touch /run/good");
      const units = await connect();
      return {
        units,
        recovering: ["good.service", "mnt-box.mount"],
        failing: "bad.service",
        dispose: () => Promise.resolve(units.dispose()),
      };
    });
  });

  describe("timers by the port on the real manager", () => {
    timersSuite(async () => {
      await session.writeUnits({
        "failing.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"],
        "failing.timer": ["[Timer]", "OnActiveSec=1ms", "AccuracySec=1s", "OnUnitInactiveSec=1h"],
      });
      await shell("systemctl start failing.timer");
      const { timers, dispose } = await connect();
      return {
        list: () =>
          eventually(async () => {
            const all = await timers.list();
            const failing = all?.find(({ name }) => name === "failing.timer");
            expect(failing).toMatchObject({ unitActiveState: "failed", nextStartAt: expect.any(Number) });
            await shell("systemctl stop failing.timer; systemctl reset-failed");
            dispose();
            return all;
          }),
      };
    });
  });

  describe("details by the port on the real manager", () => {
    unitDetailsSuite(async () => {
      await session.writeUnits({
        "suite-told.service": sleeper,
        "suite-told.socket": ["[Socket]", "ListenStream=/run/suite-told.sock"],
        "suite-told.timer": ["[Timer]", "OnCalendar=hourly"],
      });
      await shell("systemctl start suite-told.socket suite-told.timer suite-told.service");
      const live = await connect();
      const install = (name: string) => session.writeUnits({ [name]: ["[Timer]", "OnCalendar=hourly"] });
      return { details: live.details, install, dispose: live.dispose };
    });
  });

  it("details of a service are those of systemctl show", async () => {
    await session.writeUnits({
      "told.service": [
        ...["[Unit]", "Description=Told", "Documentation=man:told(1)", "Wants=cron.service", "After=cron.service"],
        ...[
          "ConditionPathExists=/etc",
          "[Service]",
          // Started when it is executed: before, its process is still that of systemd.
          "Type=exec",
          "User=nobody",
          "Restart=on-failure",
          "MemoryMax=64M",
          "CPUQuota=50%",
        ],
        ...["TasksMax=33", "LimitNOFILE=512:2048", "RuntimeMaxSec=1h", "Environment=DB_PASSWORD=hunter2"],
        ...["ExecStartPre=-/bin/false", "ExecStart=/bin/sleep infinity", "[Install]", "WantedBy=multi-user.target"],
      ],
      "told.service.d/a.conf": ["[Service]", "ExecReload=/bin/true --token=hunter2hunter2"],
      "told.service.d/secret.conf": ["[Service]", "Nice=3"],
      "needs-told.service": ["[Unit]", "Requires=told.service", "After=against-told.service", ...sleeper],
      "bound-told.service": ["[Unit]", "BindsTo=told.service", ...sleeper],
      "part-of-told.service": ["[Unit]", "PartOf=told.service", ...sleeper],
      "against-told.service": ["[Unit]", "Conflicts=told.service", ...sleeper],
      "told.path": ["[Path]", "PathExists=/run/told"],
      "told.timer": ["[Timer]", "OnCalendar=*-*-* 06:00:00"],
    });
    await shell("chmod 600 /etc/systemd/system/told.service.d/secret.conf");
    await shell("systemctl enable told.service; systemctl start told.path told.timer told.service");
    // A unit knows those that name it while they are loaded, as what a running one names is.
    await shell("systemctl start needs-told part-of-told bound-told");
    const reported = await show("told");
    const list = async (name: string) =>
      (await property(session, "told.service", name)).split(" ").filter(Boolean).sort();
    const value = (name: string) => property(session, "told.service", name);
    const { dependencies, limits, files, resources } = reported;
    const reverse = {
      ...{ requires: "Requires", requisite: "Requisite", binds_to: "BindsTo", part_of: "PartOf", upholds: "Upholds" },
      ...{ conflicts: "Conflicts", before: "Before", required_by: "RequiredBy", requisite_of: "RequisiteOf" },
      ...{ bound_by: "BoundBy", consists_of: "ConsistsOf", upheld_by: "UpheldBy", conflicted_by: "ConflictedBy" },
    } as const;
    for (const [member, name] of Object.entries(reverse) as [keyof typeof reverse, string][])
      expect([member, dependencies[member]]).toEqual([member, await list(name)]);
    expect([
      dependencies.required_by,
      dependencies.bound_by,
      dependencies.consists_of,
      dependencies.conflicted_by,
    ]).toEqual([["needs-told.service"], ["bound-told.service"], ["part-of-told.service"], ["against-told.service"]]);
    // Where the guest's control groups have a controller: what is used goes up and down in between.
    const number = async (name: string) => Number((await value(name)).replace("[not set]", "NaN"));
    const tasks = await number("TasksCurrent");
    expect(resources.tasks).toEqual(Number.isNaN(tasks) ? null : tasks);
    const memory = await number("MemoryCurrent");
    if (Number.isNaN(memory)) expect(resources.memory_bytes).toBeNull();
    else expect(Math.abs((resources.memory_bytes ?? 0) - memory)).toBeLessThan(2 ** 20);
    const later = (await show("told")).resources.cpu_seconds;
    const used = await number("CPUUsageNSec");
    if (Number.isNaN(used)) expect([resources.cpu_seconds, later]).toEqual([null, null]);
    else {
      expect(resources.cpu_seconds).toBeLessThanOrEqual(later ?? 0);
      expect(later).toBeLessThanOrEqual(used / 1e9);
    }
    expect([dependencies.requires, dependencies.wants, dependencies.after, dependencies.wanted_by]).toEqual([
      await list("Requires"),
      await list("Wants"),
      await list("After"),
      await list("WantedBy"),
    ]);
    expect(reported.triggered_by.map(({ name }) => name)).toEqual(await list("TriggeredBy"));
    expect([limits.memory_max_bytes, limits.tasks_max, limits.open_files, limits.open_files_max].map(String)).toEqual([
      await value("MemoryMax"),
      await value("TasksMax"),
      await value("LimitNOFILESoft"),
      await value("LimitNOFILE"),
    ]);
    expect([limits.cpu_percent, limits.runtime_max_ms]).toEqual([50, 3_600_000]);
    expect([
      reported.type,
      reported.restart,
      reported.user,
      reported.slice,
      reported.control_group,
      reported.invocation_id,
    ]).toEqual([
      await value("Type"),
      await value("Restart"),
      await value("User"),
      await value("Slice"),
      await value("ControlGroup"),
      await value("InvocationID"),
    ]);
    expect(reported.documentation).toEqual(["man:told(1)"]);
    expect(reported.commands).toMatchObject([
      { setting: "ExecStartPre", command: "/bin/false", ignores_failure: true, exit_code: 1 },
      { setting: "ExecStart", command: "/bin/sleep infinity", ended_at: null },
      { setting: "ExecReload", command: "/bin/true --token=[redacted]", started_at: null },
    ]);
    expect(reported.processes).toEqual([{ pid: Number(await value("MainPID")), command: "/bin/sleep infinity" }]);
    expect(files.fragment?.path).toBe(await value("FragmentPath"));
    expect(files.fragment?.text).toContain("Environment=DB_PASSWORD=[redacted]");
    expect(files.drop_ins.map(({ path }) => path)).toEqual((await value("DropInPaths")).split(" "));
    expect(files.drop_ins[1]).toMatchObject({ text: null, withheld: expect.any(String) });
    expect(JSON.stringify(reported)).not.toContain("hunter2");
    expect(reported.last_run).toMatchObject({ result: "running", ended_at: null });
  });

  it("details of a service have its runs with results and durations, and the end of its log", async () => {
    await session.writeUnits({
      "runs.service": [
        "[Service]",
        "Type=oneshot",
        "ExecStart=/bin/sh -c 'echo said; sleep 0.3; exit $(cat /run/runs)'",
      ],
    });
    for (const code of [0, 3, 0]) await shell(`echo ${code} > /run/runs; systemctl start runs || true`);
    await eventually(async () => {
      const { runs, logs, last_run: last } = await show("runs");
      expect(runs?.map(({ result }) => result)).toEqual(["success", "exit-code", "success"]);
      expect(runs?.[1]?.exit).toMatch(/^status=3/);
      for (const run of [last, ...(runs ?? [])]) expect(run.duration_ms).toBeGreaterThanOrEqual(290);
      expect(logs?.filter(({ message }) => message === "said")).toHaveLength(3);
    });
    const { key } = await session.api.createKey({
      body: { name: "narrow", scopes: ["system:read", "logs:read:cron"] },
    });
    const narrow = createClient({ url: session.service.url, key });
    expect(await narrow.getService({ params: { name: "runs" } })).toMatchObject({ logs: null, runs: null });
    expect((await narrow.getService({ params: { name: "cron" } })).logs?.length).toBeGreaterThan(0);
  });

  it("details have listening sockets and the exposure that systemd-analyze computes, on request", async () => {
    const reported = await show("steward", { listening: true, security: true });
    const { port } = new URL(session.service.url);
    expect(reported.listening).toContainEqual({ protocol: "tcp", address: "127.0.0.1", port: Number(port) });
    const judged = await shell("systemd-analyze security --no-pager steward.service | tail -1");
    expect(judged).toContain(`: ${reported.security?.exposure.toFixed(1)} ${reported.security?.level}`);
    expect((await show("cron", { listening: true })).listening).toEqual([]);
  });

  it("details are refused for a unit that does not exist or is not a service", async () => {
    expect(await refusal(show("nothing"))).toMatchObject({ status: 404 });
    expect(await refusal(show("cron.timer"))).toMatchObject({ status: 400 });
  });

  it("timers are those of systemctl list-timers", async () => {
    await session.writeUnits({
      "calendar.timer": ["[Timer]", "OnCalendar=*-*-* 06:00:00", "Unit=cron.service"],
      "boot.timer": ["[Timer]", "OnActiveSec=2h", "Unit=cron.service"],
    });
    await shell("systemctl start calendar.timer boot.timer");
    const rows = JSON.parse(await shell("systemctl list-timers --all --output=json")) as {
      unit: string;
      next: number | null;
      last: number | null;
      /** null where the timer is masked. */
      activates: string | null;
    }[];
    const { units } = await session.api.listUnits({ query: { type: "timer", limit: 1000 } });
    const loaded = units.filter(({ load_state: state }) => state !== "");
    expect(loaded.map(({ name }) => name)).toEqual(rows.map(({ unit }) => unit).sort());
    for (const { unit, next, last, activates } of rows) {
      const timer = units.find(({ name }) => name === unit)?.timer;
      expect([unit, timer?.unit]).toEqual([unit, activates ?? ""]);
      const close = (time: string | null | undefined, micros: number | null) =>
        micros === null || micros === 0
          ? (time ?? null) === null
          : Math.abs(Date.parse(time ?? "") - micros / 1000) < 1_000;
      expect([unit, close(timer?.next_at, next), close(timer?.last_at, last)]).toEqual([unit, true, true]);
    }
  });

  it("sockets, mounts, paths, targets and slices are those of systemctl list-units", async () => {
    for (const type of ["socket", "mount", "path", "target", "slice"] as const) {
      await eventually(async () => {
        const listed = await shell(`systemctl list-units --all --type=${type} --plain --no-legend --full`);
        const rows = listed
          .trim()
          .split("\n")
          .map((line) => line.trim().split(/\s+/).slice(0, 4));
        const { units } = await session.api.listUnits({ query: { type, limit: 1000 } });
        const loaded = units.filter(({ load_state: state }) => state !== "");
        const present = rows.filter(([, load, active]) => load !== "not-found" || active !== "inactive");
        expect(
          loaded.map(({ name, load_state, active_state, sub_state }) => [name, load_state, active_state, sub_state]),
        ).toEqual(present.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
      });
    }
    const { units } = await session.api.listUnits({ query: { type: "mount", limit: 1000 } });
    const root = units.find(({ name }) => name === "-.mount")?.mount;
    const shown = await shell("systemctl show --value --property=Where --property=What --property=Type -- -.mount");
    expect(new Set([root?.where, root?.what, root?.type])).toEqual(new Set(shown.trim().split("\n")));
  });

  describe("the states of unit files follow", () => {
    const directory = "/etc/systemd/system";
    const make = "echo '[Unit]' >";
    const wanted = "[Install]\\nWantedBy=multi-user.target\\n";

    // They are kept from now on.
    beforeAll(() => sameUnitFiles(session));

    it.each([
      ["a file, which systemd reads again", `${make} ${directory}/known.target; systemctl daemon-reload`, "static"],
      ["a file that systemd is not notified of", `${make} ${directory}/known-by-itself.target`, "static"],
      ["a file that is to be wanted", `printf '${wanted}' >${directory}/known.timer`, "disabled"],
      [
        "a file that is changed, which systemd reads again",
        `printf '${wanted}' >>${directory}/known.target; systemctl daemon-reload`,
        "disabled",
      ],
      ["a file that is changed back", `${make} ${directory}/known.target; systemctl daemon-reload`, "static"],
      ["a link that makes it wanted", "systemctl enable --no-reload known.timer", "enabled"],
      ["the end of that link", "systemctl disable --no-reload known.timer", "disabled"],
      ["a file elsewhere that is linked", `${make} /srv/known.socket; systemctl link /srv/known.socket`, "linked"],
      [
        "one until the next boot",
        `${make} /srv/known.path; systemctl link --runtime /srv/known.path`,
        "linked-runtime",
      ],
      [
        "a drop-in in a new directory",
        `mkdir ${directory}/known.target.d; printf '${wanted}' >${directory}/known.target.d/a.conf`,
        "disabled",
      ],
      ["the end of the drop-in", `rm ${directory}/known.target.d/a.conf`, "static"],
      ["another one in that directory", `printf '${wanted}' >${directory}/known.target.d/b.conf`, "disabled"],
      ["a link that is made by hand", `ln -s ../known.target ${directory}/multi-user.target.wants/`, "enabled"],
      ["one that nobody may start", "systemctl mask known-to-nobody.target", "masked"],
      ["the end of a file", "systemctl disable known.socket", undefined],
    ])("%s", async (_, change, state) => {
      await shell(change);
      const name = /known[^ /]*\.(target|timer|socket|path)/.exec(change)?.[0] ?? "";
      expect((await sameUnitFiles(session)).get(name)).toBe(state);
    });

    it("new files while systemd reloads again and again", async () => {
      const reload = async () => {
        for (let at = 0; at < 10; at += 1) await shell("systemctl daemon-reload");
      };
      const change = async () => {
        for (let at = 0; at < 5; at += 1) {
          await shell(`${make} ${directory}/again-${at}.slice`);
          expect((await sameUnitFiles(session)).get(`again-${at}.slice`)).toBe("static");
        }
      };
      await Promise.all([reload(), change()]);
    });
  });
});
