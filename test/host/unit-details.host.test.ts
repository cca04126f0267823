import { beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createLiveUnits } from "#adapters/systemd/live.ts";
import { createClient } from "#client/index.ts";
import { defaultServicePolicy } from "#domain/system/service-policy.ts";
import { unitDetailsSuite } from "../ports/unit-details.suite.ts";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { property, sameUnitFiles } from "./support/systemctl.ts";

const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];

describeOnHost("details of units", { checks: [] }, (session) => {
  const { shell } = session;
  const show = (name: string, query = {}) => session.api.getService({ params: { name }, query });

  describe("by the port", () => {
    unitDetailsSuite(async () => {
      await session.writeUnits({
        "suite-told.service": sleeper,
        "suite-told.socket": ["[Socket]", "ListenStream=/run/suite-told.sock"],
        "suite-told.timer": ["[Timer]", "OnCalendar=hourly"],
      });
      await shell("systemctl start suite-told.socket suite-told.timer suite-told.service");
      const live = createLiveUnits({
        clock: systemClock,
        policy: defaultServicePolicy,
        socket: await session.host.busSocket(),
        onStateChange: () => undefined,
      });
      const install = (name: string) => session.writeUnits({ [name]: ["[Timer]", "OnCalendar=hourly"] });
      return { details: live.details, install, dispose: live.dispose };
    });
  });

  it("of a service are those of systemctl show", async () => {
    await session.writeUnits({
      "told.service": [
        ...["[Unit]", "Description=Told", "Documentation=man:told(1)", "Wants=cron.service", "After=cron.service"],
        ...[
          "ConditionPathExists=/etc",
          "[Service]",
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
    const told = await show("told");
    const list = async (name: string) =>
      (await property(session, "told.service", name)).split(" ").filter(Boolean).sort();
    const value = (name: string) => property(session, "told.service", name);
    const { dependencies, limits, files, resources } = told;
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
    expect(told.triggered_by.map(({ name }) => name)).toEqual(await list("TriggeredBy"));
    expect([limits.memory_max_bytes, limits.tasks_max, limits.open_files, limits.open_files_max].map(String)).toEqual([
      await value("MemoryMax"),
      await value("TasksMax"),
      await value("LimitNOFILESoft"),
      await value("LimitNOFILE"),
    ]);
    expect([limits.cpu_percent, limits.runtime_max_ms]).toEqual([50, 3_600_000]);
    expect([told.type, told.restart, told.user, told.slice, told.control_group, told.invocation_id]).toEqual([
      await value("Type"),
      await value("Restart"),
      await value("User"),
      await value("Slice"),
      await value("ControlGroup"),
      await value("InvocationID"),
    ]);
    expect(told.documentation).toEqual(["man:told(1)"]);
    expect(told.commands).toMatchObject([
      { setting: "ExecStartPre", command: "/bin/false", ignores_failure: true, exit_code: 1 },
      { setting: "ExecStart", command: "/bin/sleep infinity", ended_at: null },
      { setting: "ExecReload", command: "/bin/true --token=[redacted]", started_at: null },
    ]);
    expect(told.processes).toEqual([{ pid: Number(await value("MainPID")), command: "/bin/sleep infinity" }]);
    expect(files.fragment?.path).toBe(await value("FragmentPath"));
    expect(files.fragment?.text).toContain("Environment=DB_PASSWORD=[redacted]");
    expect(files.drop_ins.map(({ path }) => path)).toEqual((await value("DropInPaths")).split(" "));
    expect(files.drop_ins[1]).toMatchObject({ text: null, withheld: expect.any(String) });
    expect(JSON.stringify(told)).not.toContain("hunter2");
    expect(told.last_run).toMatchObject({ result: "running", ended_at: null });
  });

  it("tell runs with their results and durations, and the end of the log", async () => {
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

  it("tell on request where it waits, and how exposed it is, as systemd-analyze says", async () => {
    const told = await show("steward", { listening: true, security: true });
    const { port } = new URL(session.service.url);
    expect(told.listening).toContainEqual({ protocol: "tcp", address: "127.0.0.1", port: Number(port) });
    const judged = await shell("systemd-analyze security --no-pager steward.service | tail -1");
    expect(judged).toContain(`: ${told.security?.exposure.toFixed(1)} ${told.security?.level}`);
    expect((await show("cron", { listening: true })).listening).toEqual([]);
  });

  it("are refused for what does not exist, or is no service", async () => {
    expect(await refusal(show("nothing"))).toMatchObject({ status: 404 });
    expect(await refusal(show("cron.timer"))).toMatchObject({ status: 400 });
  });

  it("of timers are those of systemctl list-timers", async () => {
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

  it("of sockets, mounts and others are those of systemctl list-units", async () => {
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

  describe("know at once of unit files that somebody else changes", () => {
    const folder = "/etc/systemd/system";
    const make = "echo '[Unit]' >";
    const wanted = "[Install]\\nWantedBy=multi-user.target\\n";

    // They are kept from now on.
    beforeAll(() => sameUnitFiles(session));

    it.each([
      ["a file, which systemd reads again", `${make} ${folder}/known.target; systemctl daemon-reload`, "static"],
      ["a file of which nobody tells systemd", `${make} ${folder}/known-by-itself.target`, "static"],
      ["a file that is to be wanted", `printf '${wanted}' >${folder}/known.timer`, "disabled"],
      [
        "a file that is changed, which systemd reads again",
        `printf '${wanted}' >>${folder}/known.target; systemctl daemon-reload`,
        "disabled",
      ],
      ["a file that is changed back", `${make} ${folder}/known.target; systemctl daemon-reload`, "static"],
      ["a link that makes it wanted", "systemctl enable --no-reload known.timer", "enabled"],
      ["the end of that link", "systemctl disable --no-reload known.timer", "disabled"],
      ["a file elsewhere that is linked", `${make} /srv/known.socket; systemctl link /srv/known.socket`, "linked"],
      [
        "one until the next boot",
        `${make} /srv/known.path; systemctl link --runtime /srv/known.path`,
        "linked-runtime",
      ],
      [
        "a drop-in in a new folder",
        `mkdir ${folder}/known.target.d; printf '${wanted}' >${folder}/known.target.d/a.conf`,
        "disabled",
      ],
      ["the end of the drop-in", `rm ${folder}/known.target.d/a.conf`, "static"],
      ["another one in that folder", `printf '${wanted}' >${folder}/known.target.d/b.conf`, "disabled"],
      ["a link that is made by hand", `ln -s ../known.target ${folder}/multi-user.target.wants/`, "enabled"],
      ["one that nobody may start", "systemctl mask known-to-nobody.target", "masked"],
      ["the end of a file", "systemctl disable known.socket", undefined],
    ])("%s", async (_, change, state) => {
      await shell(change);
      const name = /known[^ /]*\.(target|timer|socket|path)/.exec(change)?.[0] ?? "";
      expect((await sameUnitFiles(session)).get(name)).toBe(state);
    });

    it("also while systemd reads them again and again", async () => {
      const reload = async () => {
        for (let at = 0; at < 10; at += 1) await shell("systemctl daemon-reload");
      };
      const change = async () => {
        for (let at = 0; at < 5; at += 1) {
          await shell(`${make} ${folder}/again-${at}.slice`);
          expect((await sameUnitFiles(session)).get(`again-${at}.slice`)).toBe("static");
        }
      };
      await Promise.all([reload(), change()]);
    });
  });
});
