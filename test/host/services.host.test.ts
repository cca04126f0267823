import { describe, expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, listingOfSystemctl, sameAsSystemctl } from "./support/systemctl.ts";

describeOnHost("services of a host", (session) => {
  it("are those that systemctl lists, field by field", async () => {
    const services = await sameAsSystemctl(session);

    expect(services.length).toBeGreaterThan(100);
    expect(services.filter(({ running }) => running).map(({ name }) => name)).toContain("cron.service");
  });

  it("are listed when they are templates", async () => {
    expect(await entry(session, "getty@.service")).toMatchObject({ load_state: "", active: false, main_pid: null });
  });

  it("show an alias in the state of the unit that it names", async () => {
    const cron = await entry(session, "cron.service");
    await session.shell("ln -s /lib/systemd/system/cron.service /etc/systemd/system/punctual.service");
    await session.host.exec(["systemctl", "daemon-reload"]);
    await sameAsSystemctl(session);

    expect(await entry(session, "punctual.service")).toEqual({
      ...cron,
      name: "punctual.service",
      unit_file_state: "alias",
      enabled: false,
    });
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
      await sameAsSystemctl(session);
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
      const unfiltered = await session.api.listServices({ query: { limit: 1000 } });

      expect(await session.api.listServices({ query: { status: "all", limit: 1000 } })).toEqual(unfiltered);
    });

    it("by a limit are counted before it", async () => {
      const all = await session.api.listServices({ query: { limit: 1000 } });
      const first = await session.api.listServices({ query: { limit: 3 } });

      expect(first).toEqual({ services: all.services.slice(0, 3), total: all.total });
      expect((await session.api.listServices()).services).toEqual(all.services.slice(0, 100));
    });

    it("by a limit within a status are counted within that status", async () => {
      const all = await session.api.listServices({ query: { status: "active", limit: 1000 } });

      expect(await session.api.listServices({ query: { status: "active", limit: 1 } })).toEqual({
        services: all.services.slice(0, 1),
        total: all.total,
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
      return lines.flatMap((line) => /"member":"(\w+)"/.exec(line)?.[1] ?? []);
    };
    // A question that has to be asked shows that the listener hears.
    const ask = () => session.api.restartService({ params: { name: "cron" }, query: { dry_run: true } });
    await eventually(async () => {
      await ask();
      expect(await heard()).toContain("LoadUnit");
    });
    const before = (await heard()).length;
    for (let i = 0; i < 50; i += 1) await session.api.listServices({ query: { limit: 1000 } });
    await ask();
    const questions = await eventually(async () => {
      const asked = (await heard()).slice(before);
      expect(asked).toContain("LoadUnit");
      return asked;
    });

    // Unit files may have to be looked at anew, once, since the listener has one of its own.
    expect(questions.length).toBeLessThan(10);
    expect(questions).not.toContain("ListUnitsByPatterns");
    await session.host.exec(["systemctl", "stop", "listener.service"]);
  });
});
