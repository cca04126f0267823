import { expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { property } from "./support/systemctl.ts";

const unit = "steward.service";

describeOnHost("the service under its manager", (session) => {
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);
  const own = (name: string): Promise<string> => property(session, unit, name);
  const kill = (signal: string) => systemctl("kill", "--kill-whom=main", `--signal=${signal}`, unit);
  const dropIn = async (lines: readonly string[]): Promise<void> => {
    await session.host.writeFile(`/etc/systemd/system/${unit}.d/90-manager.conf`, `${lines.join("\n")}\n`);
    await systemctl("daemon-reload");
  };
  const readiness = async (): Promise<number> => (await fetch(`${session.service.url}/readyz`)).status;

  it("is active no sooner than it is ready", async () => {
    expect(await own("Type")).toBe("notify");
    const { host } = new URL(session.service.url);
    await dropIn(["[Service]", `Environment=STEWARD_LISTEN=${host}`]);
    for (let round = 0; round < 2; round += 1) {
      await systemctl("restart", unit);
      expect(await readiness()).toBe(200);
    }
  });

  it("has a status text that names unhealthy components", async () => {
    await eventually(async () => expect(await own("StatusText")).toBe(`Ready on ${session.service.url}`));
    const settings = "probes:\n  list:\n    - { name: nothing-there, tcp: '127.0.0.1:1' }\n";
    await session.host.writeFile("/etc/steward/config.yaml", settings);
    await systemctl("restart", unit);
    await eventually(async () => expect(await own("StatusText")).toMatch(/^Ready on .*, unhealthy: nothing-there$/));
    await session.host.exec(["rm", "/etc/steward/config.yaml"]);
    await systemctl("restart", unit);
  });

  it("is reloading while it reads its settings again, and then active as the same process", async () => {
    const pid = await session.service.pid();
    await session.shell("rm -f /run/reloading; touch /run/watch");
    const watching = session.shell(
      `while [ -e /run/watch ]; do systemctl show --value --property=ActiveState ${unit} | grep -qx reloading && touch /run/reloading; done; true`,
    );
    // Who looks again and again on a busy machine may miss it.
    await eventually(async () => {
      await systemctl("reload", unit);
      await session.shell("test -e /run/reloading");
    });
    await session.shell("rm /run/watch");
    await watching;
    // `systemctl reload` ends when the signal is sent.
    await eventually(async () => expect(await own("ActiveState")).toBe("active"));
    expect(await session.service.pid()).toBe(pid);
  });

  it("sends watchdog pings, and continues after it was stopped briefly", async () => {
    expect(await own("WatchdogUSec")).toBe("2min");
    await dropIn([
      "[Service]",
      "Restart=on-failure",
      "WatchdogSec=10s",
      `Environment=STEWARD_LISTEN=${new URL(session.service.url).host}`,
    ]);
    await systemctl("restart", unit);
    const pid = await session.service.pid();
    const heartbeat = async (): Promise<void> => {
      const last = await own("WatchdogTimestampMonotonic");
      await eventually(async () => expect(await own("WatchdogTimestampMonotonic")).not.toBe(last));
    };
    for (let count = 0; count < 3; count += 1) await heartbeat();
    await kill("STOP");
    await eventually(async () => expect(await session.shell(`ps -o stat= -p ${pid}`)).toMatch(/^T/));
    await kill("CONT");
    await heartbeat();
    expect(await session.service.pid()).toBe(pid);
    expect(await own("NRestarts")).toBe("0");
  });

  it("is killed by the watchdog and started again when it is stopped, with all that was acknowledged", async () => {
    const { id } = await session.api.createKey({ body: { name: "kept", scopes: ["system:read"] } });
    const pid = await session.service.pid();
    await kill("STOP");
    await eventually(async () => {
      expect(await session.service.pid()).not.toBe(pid);
      expect(await own("ActiveState")).toBe("active");
    }, 90_000);

    expect(await own("NRestarts")).toBe("1");
    expect(await readiness()).toBe(200);
    expect((await session.api.listKeys()).keys).toContainEqual(expect.objectContaining({ id, revoked_at: null }));
    const said = await session.shell(`journalctl --quiet --no-pager -o cat -u ${unit} _PID=1`);
    expect(said).toContain("Watchdog timeout");
    expect(await session.shell("find / -xdev -name 'core*' -newer /etc/hostname -size +1M -type f")).toBe("");
  });

  it("fails in the end when it does not stay up, and starts its OnFailure= unit", async () => {
    await session.writeUnits({ "told.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/touch /run/told"] });
    await dropIn([
      "[Unit]",
      "StartLimitIntervalSec=5min",
      "StartLimitBurst=2",
      "OnFailure=told.service",
      "[Service]",
      "Restart=on-failure",
      "RestartSec=100ms",
    ]);
    await session.host.writeFile("/etc/steward/config.yaml", "colour: blue\n");
    await systemctl("reset-failed", unit).catch(() => undefined);
    await systemctl("kill", "--kill-whom=main", "--signal=KILL", unit);
    await eventually(async () => expect(await own("ActiveState")).toBe("failed"), 30_000);
    await eventually(async () => expect(await session.shell("ls /run/told")).toContain("told"));

    await session.host.exec(["rm", "/etc/steward/config.yaml", `/etc/systemd/system/${unit}.d/90-manager.conf`]);
    await systemctl("daemon-reload");
    await systemctl("reset-failed", unit);
    await session.service.restart();
    expect(await readiness()).toBe(200);
  });
});
