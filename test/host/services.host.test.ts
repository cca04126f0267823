import { describe, expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, listingOfSystemctl, sameAsSystemctl } from "./support/systemctl.ts";

describeOnHost("services of a host", { checks: ["systemd_failed"] }, (session) => {
  it("are those that systemctl lists, field by field", async () => {
    const services = await sameAsSystemctl(session);

    expect(services.length).toBeGreaterThan(100);
    expect(services.filter(({ running }) => running).map(({ name }) => name)).toContain("cron.service");
  });

  it("are listed when they are templates", async () => {
    expect(await entry(session, "getty@.service")).toMatchObject({ load_state: "", active: false, main_pid: null });
  });

  it("that are loaded are those of systemctl list-units, less names of what does not exist", async () => {
    await session.writeUnits({
      "refers.service": ["[Unit]", "After=nowhere.service", "[Service]", "ExecStart=/bin/sleep infinity"],
      "vanishes.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
    });
    await session.shell("systemctl start refers.service vanishes.service; rm /etc/systemd/system/vanishes.service");
    await session.host.exec(["systemctl", "daemon-reload"]);
    await eventually(async () => {
      const printed = await session.shell("systemctl list-units --all --type=service --plain --no-legend");
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

  it("are listed once, whatever other names they have", async () => {
    await session.writeUnits({ "fails.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"] });
    await session.shell(
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
    await session.shell("systemctl reset-failed fails.service");
  });

  it("are listed when their file is linked from elsewhere under another name", async () => {
    await session.host.writeFile("/opt/elsewhere.service", "[Service]\nExecStart=/bin/sleep infinity\n");
    await session.shell("ln -s /opt/elsewhere.service /etc/systemd/system/linked.service; systemctl daemon-reload");
    await sameAsSystemctl(session);

    expect(await entry(session, "linked.service")).toMatchObject({ active: false, load_state: "" });

    await session.host.exec(["systemctl", "start", "linked.service"]);
    await sameAsSystemctl(session);

    expect(await entry(session, "linked.service")).toMatchObject({ running: true });
  });

  it("are in order of their names, each once", async () => {
    const { services } = await session.api.listServices({ query: { limit: 1000 } });
    const names = services.map(({ name }) => name);

    expect(names).toEqual([...new Set(names)].sort());
  });

  describe("narrowed", () => {
    it.each(["active", "inactive", "failed"] as const)("to %s are those that systemctl calls so", async (status) => {
      await session.writeUnits({ "broken.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"] });
      await session.host.exec(["systemctl", "start", "broken.service"], { allowFailure: true });
      // Some services of systemd end by themselves when they are idle, also between two questions.
      await eventually(async () => {
        const expected = (await listingOfSystemctl(session)).filter((service) => service.active_state === status);
        const { services, total } = await session.api.listServices({ query: { status, limit: 1000 } });

        expect(services).toEqual(expected);
        expect(total).toBe(expected.length);
        expect(total).toBeGreaterThan(0);
      });
    });

    it("to all are the same as without a filter", async () => {
      await eventually(async () => {
        const unfiltered = await session.api.listServices({ query: { limit: 1000 } });
        expect(await session.api.listServices({ query: { status: "all", limit: 1000 } })).toEqual(unfiltered);
      });
    });

    it("by a limit are counted before it", async () => {
      // Services end by themselves, and are unloaded, also between two questions.
      await eventually(async () => {
        const all = await session.api.listServices({ query: { limit: 1000 } });
        const first = await session.api.listServices({ query: { limit: 3 } });

        expect(first).toEqual({ services: all.services.slice(0, 3), total: all.total });
        expect((await session.api.listServices()).services).toEqual(all.services.slice(0, 100));
      });
    });

    it("by a limit within a status are counted within that status", async () => {
      await eventually(async () => {
        const all = await session.api.listServices({ query: { status: "active", limit: 1000 } });

        expect(await session.api.listServices({ query: { status: "active", limit: 1 } })).toEqual({
          services: all.services.slice(0, 1),
          total: all.total,
        });
      });
    });
  });

  it.each([
    ["markup", `<script>alert("1")</script> & 'quotes' \`ticks\``],
    ["unicode", "Größe 日本語 🚀 e\u0301"],
    ["length", "long ".repeat(400).trim()],
    ["a specifier", "fifty %% of %%n"],
  ])("bear a description with %s as it is", async (_, description) => {
    await session.writeUnits({
      "described.service": ["[Unit]", `Description=${description}`, "[Service]", "ExecStart=/bin/sleep infinity"],
    });
    await session.host.exec(["systemctl", "restart", "described.service"]);
    await sameAsSystemctl(session);

    expect((await entry(session, "described.service"))?.description).toBe(description.replaceAll("%%", "%"));
  });

  it("are listed without a question to the bus", async () => {
    const pid = await session.service.pid();
    const names = JSON.parse(await session.shell("busctl list --unique --json=short")) as {
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
    // A question that has to be asked shows that the listener hears.
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

    // Unit files may have to be looked at anew, once, and a unit that appears meanwhile is asked about by its name.
    expect(questions.length).toBeLessThan(20);
    expect(questions).not.toEqual(isAbout('"*.service"'));
    await session.host.exec(["systemctl", "stop", "listener.service"]);
  });
});
