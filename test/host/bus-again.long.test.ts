import { expect, it } from "vitest";
import { backAgainMs, busOf, sleeper } from "./support/bus.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property, sameAsSystemctl, sameUnitFiles } from "./support/systemctl.ts";

describeOnHost("on a system bus that comes and goes the service", (session) => {
  const { systemctl, backAgain } = busOf(session);

  /** Of what is open, sockets alone can be connections: files and threads of the traces come and go by themselves. */
  const openSockets = async (): Promise<number> => {
    const pid = await session.service.pid();
    return Number(await session.shell(`ls -l /proc/${pid}/fd | grep -c 'socket:'`));
  };

  /** A folder does not show that a file in it is another one; systemd alone says so, once it has read the file again. */
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

  it("lists files that have changed while the bus was away", async () => {
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

  it.each(["daemon-reload", "daemon-reexec"])("survives a %s", async (verb) => {
    await session.host.writeFile(`/etc/systemd/system/after-${verb}.service`, `${sleeper.join("\n")}\n`);
    await systemctl(verb);
    await backAgain();
    await systemctl("start", `after-${verb}.service`);
    await sameAsSystemctl(session);
    await followsFiles();

    expect(await entry(session, `after-${verb}.service`)).toMatchObject({ running: true, load_state: "loaded" });
    expect(await session.api.restartService({ params: { name: "cron" } })).toMatchObject({ success: true });
  });

  it("knows after a restart of the bus how often a unit that rests was restarted", async () => {
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

    expect(await entry(session, "counted.service")).toMatchObject({ load_state: "loaded", active: false, restarts: 1 });
  });

  it("restarts the bus itself when asked to, where the settings permit that", async () => {
    await session.host.writeFile("/etc/steward/config.yaml", "services: { allow: [dbus] }\n");
    await session.service.restart();
    const before = await property(session, "dbus.service", "MainPID");
    const answer = await session.api.restartService({ params: { name: "dbus" } });

    expect(answer).toMatchObject({ name: "dbus.service", success: true, running: true, job_result: "done" });
    expect(String(answer.main_pid)).not.toBe(before);
    expect(String(answer.main_pid)).toBe(await property(session, "dbus.service", "MainPID"));
    await backAgain();
  });

  it("comes back when the bus is killed", async () => {
    await systemctl("kill", "--kill-whom=main", "--signal=KILL", "dbus.service");
    await backAgain();
  });

  it("keeps no files open for connections that are gone", async () => {
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
