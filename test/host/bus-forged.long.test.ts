import { expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property } from "./support/systemctl.ts";

const manager = "org.freedesktop.systemd1.Manager";
const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];
const untilReported = "/bin/sh -c 'until test -e /run/go-on; do sleep 0.1; done'";

/** The bus lets every local user send a signal to whom they like; match rules are about broadcast ones alone. */
describeOnHost("signals that another user sends to the service", { checks: [] }, (session) => {
  const addressOfService = async (): Promise<string> => {
    const pid = await session.service.pid();
    const names = await session.shell("busctl --system --no-legend --no-pager --unique list");
    const rows = names.split("\n").map((line) => line.split(/\s+/));
    return rows.find(([, process]) => process === String(pid))?.[0] ?? "none";
  };

  const forge = async (member: string, ...words: readonly string[]): Promise<void> => {
    const to = `--dest=${await addressOfService()}`;
    const send = ["dbus-send", "--system", "--type=signal", to, "/org/freedesktop/systemd1", member, ...words];
    await session.host.exec(["runuser", "-u", "nobody", "--", ...send]);
  };

  /** What comes after them, over the same connection, has been handled: so have they. */
  const handled = async (name: string): Promise<void> => {
    await session.host.exec(["systemctl", "start", `${name}.service`]);
    await eventually(async () => expect(await entry(session, `${name}.service`)).toMatchObject({ running: true }));
  };

  it("do not take a service off the list", async () => {
    await session.writeUnits({ "after-removal.service": sleeper });
    expect(await entry(session, "cron.service")).toMatchObject({ running: true });
    await forge(
      `${manager}.UnitRemoved`,
      "string:cron.service",
      "objpath:/org/freedesktop/systemd1/unit/cron_2eservice",
    );
    await handled("after-removal");

    expect(await entry(session, "cron.service")).toMatchObject({ running: true });
  });

  it("do not say how a restart has ended", async () => {
    await session.writeUnits({
      "slow.service": ["[Service]", "Type=oneshot", `ExecStart=${untilReported}`, "ExecStart=/bin/false"],
      "after-job.service": sleeper,
    });
    const answer = session.api.restartService({ params: { name: "slow" } }).then(
      () => "done",
      (error: unknown) => String(error),
    );
    await eventually(async () => expect(await property(session, "slow.service", "ActiveState")).toBe("activating"));
    const job = await property(session, "slow.service", "Job");
    await forge(
      `${manager}.JobRemoved`,
      `uint32:${job}`,
      `objpath:/org/freedesktop/systemd1/job/${job}`,
      "string:slow.service",
      "string:done",
    );
    await handled("after-job");
    await session.shell("touch /run/go-on");

    expect(await answer).not.toBe("done");
  });

  it("do not make it take systemd for one that reads its files, or has come back", async () => {
    await session.writeUnits({ "gone.service": sleeper, "after-reload.service": sleeper });
    await session.host.exec(["systemctl", "start", "gone.service"]);
    await eventually(async () => expect(await entry(session, "gone.service")).toMatchObject({ running: true }));
    await forge(`${manager}.Reloading`, "boolean:true");
    await handled("after-reload");
    await session.shell(
      "rm /etc/systemd/system/gone.service; systemctl stop gone.service; systemctl reset-failed || true",
    );

    await eventually(async () => {
      const { services } = await session.api.listServices();
      expect(services.map(({ name }) => name)).not.toContain("gone.service");
    });
  });

  it("leave its own as they are", async () => {
    await session.host.exec(["systemctl", "restart", "cron.service"]);
    await session.host.exec(["systemctl", "stop", "cron.service"]);
    await eventually(async () => expect(await entry(session, "cron.service")).toMatchObject({ running: false }));
    await session.host.exec(["systemctl", "start", "cron.service"]);
    await eventually(async () => expect(await entry(session, "cron.service")).toMatchObject({ running: true }));
  });
});
