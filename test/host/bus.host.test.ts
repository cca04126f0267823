import { expect, it } from "vitest";
import { ApiError } from "#client/index.ts";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property, sameAsSystemctl } from "./support/systemctl.ts";

const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];
const backAgainMs = 20_000;

describeOnHost("on the system bus the service", (session) => {
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);

  const healthy = () =>
    eventually(async () => {
      expect(await session.api.getHealth()).toMatchObject({ components: { ops: true } });
    }, backAgainMs);

  const backAgain = async (): Promise<void> => {
    await healthy();
    await sameAsSystemctl(session, backAgainMs);
  };

  /** Of what is open, sockets alone can be connections: files and threads of the traces come and go by themselves. */
  const openSockets = async (): Promise<number> => {
    const pid = await session.service.pid();
    return Number(await session.shell(`ls -l /proc/${pid}/fd | grep -c 'socket:'`));
  };

  /** What the log says of each time that the bus was connected. */
  const connections = async (): Promise<number> =>
    (await session.service.logs()).split("\n").filter((line) => line.includes('"system bus connected"')).length;

  /** Starts the service anew, as often as a test likes. */
  const startAnew = async (): Promise<void> => {
    await systemctl("reset-failed", "steward.service");
    await session.service.restart();
  };

  it("is well in its first answer after a start", async () => {
    for (let start = 0; start < 2; start += 1) {
      await startAnew();

      expect(await session.api.getHealth()).toMatchObject({ components: { ops: true, cli: true } });
      expect(await session.api.getReadiness()).toMatchObject({ status: "ok" });
    }
  });

  it("lets a request wait that comes before the bus", async () => {
    await systemctl("stop", "dbus.socket", "dbus.service");
    await startAnew();
    const restarted = session.api.restartService({ params: { name: "cron" } });
    const listed = session.api.listServices();
    const both = Promise.all([restarted, listed]);
    await Promise.all([both, systemctl("start", "dbus.socket")]);

    expect(await restarted).toMatchObject({ job_result: "done", running: true });
    expect((await listed).total).toBeGreaterThan(100);
    await backAgain();
  });

  it.each(["daemon-reload", "daemon-reexec"])("survives a %s", async (verb) => {
    await session.host.writeFile(`/etc/systemd/system/after-${verb}.service`, `${sleeper.join("\n")}\n`);
    await systemctl(verb);
    await backAgain();
    await systemctl("start", `after-${verb}.service`);
    await sameAsSystemctl(session);

    expect(await entry(session, `after-${verb}.service`)).toMatchObject({ running: true, load_state: "loaded" });
    expect(await session.api.restartService({ params: { name: "cron" } })).toMatchObject({ success: true });
  });

  it("comes back when the bus is restarted", async () => {
    const pid = await session.service.pid();
    await systemctl("restart", "dbus.service");
    await backAgain();

    expect(await session.service.pid()).toBe(pid);
    expect(await session.api.restartService({ params: { name: "cron" } })).toMatchObject({ job_result: "done" });
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

  it("says so as long as the bus is gone, and what changed meanwhile is there afterwards", async () => {
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
    expect(error).toMatchObject({ status: 503, code: "UNAVAILABLE", details: { missing: "systemd", retryable: true } });
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

  it("answers a restart that was running when the bus went away", async () => {
    await session.writeUnits({ "cut.service": [...sleeper, "ExecStartPre=/bin/sleep 2"] });
    const answer = session.api.restartService({ params: { name: "cut" } }).then(
      ({ success }) => ({ success, status: 200 }),
      (error: unknown) => ({ success: false, status: error instanceof ApiError ? error.status : 0 }),
    );
    await eventually(async () => {
      expect(await property(session, "cut.service", "ActiveState")).toBe("activating");
    });
    await systemctl("restart", "dbus.service");
    const told = await answer;

    // Whatever was known when the bus came back: never a success before the unit is up.
    const isUp = (await property(session, "cut.service", "ActiveState")) === "active";
    expect(told).toEqual(isUp ? { success: true, status: 200 } : { success: false, status: 503 });
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
