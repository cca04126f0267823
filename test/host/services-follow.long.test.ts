import { describe, expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property, sameAsSystemctl } from "./support/systemctl.ts";

const sleeper = ["[Unit]", "Description=Sleeper", "[Service]", "ExecStart=/bin/sleep infinity"];
const install = ["[Install]", "WantedBy=multi-user.target"];

describeOnHost("the listing of services follows", (session) => {
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);

  it("a unit that is started and stopped", async () => {
    await session.writeUnits({ "follow.service": sleeper });
    await sameAsSystemctl(session);
    await systemctl("start", "follow.service");
    await sameAsSystemctl(session);
    const pid = Number(await property(session, "follow.service", "MainPID"));

    expect(await entry(session, "follow.service")).toMatchObject({ running: true, main_pid: pid });

    await systemctl("stop", "follow.service");
    await sameAsSystemctl(session);

    expect(await entry(session, "follow.service")).toMatchObject({ active: false, main_pid: null });
  });

  it("a unit that crashes", async () => {
    await session.writeUnits({ "crashes.service": sleeper });
    await systemctl("start", "crashes.service");
    await sameAsSystemctl(session);
    await systemctl("kill", "--signal=KILL", "crashes.service");
    await eventually(async () => {
      expect(await entry(session, "crashes.service")).toMatchObject({ active_state: "failed", main_pid: null });
    });
    await sameAsSystemctl(session);
    await systemctl("reset-failed", "crashes.service");
    await sameAsSystemctl(session);

    expect(await entry(session, "crashes.service")).toMatchObject({ active_state: "inactive" });
  });

  it("automatic restarts, which it counts", async () => {
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

  it("unit files that nobody told systemd about", async () => {
    await session.host.writeFile("/etc/systemd/system/dropped.service", `${sleeper.join("\n")}\n`);
    await sameAsSystemctl(session);

    expect(await entry(session, "dropped.service")).toMatchObject({ description: "Sleeper", load_state: "" });

    await systemctl("daemon-reload");
    await sameAsSystemctl(session);
    await session.host.exec(["rm", "/etc/systemd/system/dropped.service"]);
    await sameAsSystemctl(session);

    expect(await entry(session, "dropped.service")).toBeUndefined();
  });

  it("a description that changes with a reload", async () => {
    await session.writeUnits({ "renamed.service": sleeper });
    await systemctl("start", "renamed.service");
    await session.writeUnits({ "renamed.service": ["[Unit]", "Description=Later", ...sleeper.slice(2)] });
    await sameAsSystemctl(session);

    expect((await entry(session, "renamed.service"))?.description).toBe("Later");
  });

  it("a running unit whose file is removed", async () => {
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

  it("transient units", async () => {
    await session.host.exec(["systemd-run", "--quiet", "--unit=passing", "sleep", "infinity"]);
    await sameAsSystemctl(session);

    expect(await entry(session, "passing.service")).toMatchObject({ running: true, unit_file_state: "transient" });

    await systemctl("stop", "passing.service");
    await sameAsSystemctl(session);

    expect(await entry(session, "passing.service")).toBeUndefined();
  });

  describe("the state of a unit file", () => {
    it.each([
      ["enable", "enabled", true],
      ["disable", "disabled", false],
      ["mask", "masked", false],
      ["unmask", "disabled", false],
    ])("after %s", async (verb, unitFileState, enabled) => {
      if (verb === "enable") {
        // A file in /etc cannot be masked, it would be in the way of the link.
        await session.host.writeFile("/usr/lib/systemd/system/chosen.service", [...sleeper, ...install].join("\n"));
        await systemctl("daemon-reload");
      }
      await systemctl(verb, "chosen.service");
      await sameAsSystemctl(session);

      expect(await entry(session, "chosen.service")).toMatchObject({ unit_file_state: unitFileState, enabled });
    });

    it("for this boot only", async () => {
      await systemctl("enable", "--runtime", "chosen.service");
      await sameAsSystemctl(session);

      expect(await entry(session, "chosen.service")).toMatchObject({
        unit_file_state: "enabled-runtime",
        enabled: true,
      });
    });

    it("after links that a package made by hand", async () => {
      await session.host.writeFile("/usr/lib/systemd/system/packaged.service", [...sleeper, ...install].join("\n"));
      await sameAsSystemctl(session);
      const link = "/etc/systemd/system/multi-user.target.wants/packaged.service";
      await session.host.exec(["ln", "-s", "/usr/lib/systemd/system/packaged.service", link]);
      await sameAsSystemctl(session);

      expect((await entry(session, "packaged.service"))?.enabled).toBe(true);
    });

    it("of an instance", async () => {
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

    it("of an instance that is loaded and does not run", async () => {
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

  it("units that come and go while systemd reads its files again", async () => {
    const passing = session.shell("for i in $(seq 1 80); do systemd-run --quiet --collect true; done");
    const reloading = session.shell("for i in $(seq 1 12); do systemctl daemon-reload; done");
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

  it("many units at once", async () => {
    const text = sleeper.join("\\n");
    const eachOf = (count: number, command: string) =>
      session.shell(`for i in $(seq 1 ${count}); do n=many-$i.service; ${command}; done`);
    await eachOf(200, `printf '${text}\\n' > /etc/systemd/system/$n`);
    await systemctl("daemon-reload");
    const listed = await sameAsSystemctl(session);
    expect(listed.filter(({ name }) => name.startsWith("many-")).length).toBe(200);

    const started = Array.from({ length: 50 }, (_, i) => `many-${i + 1}.service`);
    await systemctl("start", ...started);
    const withStarted = await sameAsSystemctl(session);
    const running = withStarted.filter(({ name, running: isRunning }) => name.startsWith("many-") && isRunning);
    expect(running.map(({ name }) => name)).toEqual([...started].sort());

    await systemctl("stop", ...started);
    const withStopped = await sameAsSystemctl(session);
    expect(withStopped.filter(({ name, running: isRunning }) => name.startsWith("many-") && isRunning)).toEqual([]);

    await eachOf(200, "rm /etc/systemd/system/$n");
    await systemctl("daemon-reload");
    const withoutThem = await sameAsSystemctl(session);
    expect(withoutThem.filter(({ name }) => name.startsWith("many-"))).toEqual([]);
  });
});
