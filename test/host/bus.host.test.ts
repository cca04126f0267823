import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { ApiError } from "#client/index.ts";
import { busOf, sleeper } from "./support/bus.ts";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { entry, property, sameAsSystemctl } from "./support/systemctl.ts";

describeOnHost("on the system bus the service", { checks: [] }, (session) => {
  const { systemctl, backAgain } = busOf(session);

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

  it("comes back when the bus is restarted", async () => {
    const pid = await session.service.pid();
    await systemctl("restart", "dbus.service");
    await backAgain();

    expect(await session.service.pid()).toBe(pid);
    expect(await session.api.restartService({ params: { name: "cron" } })).toMatchObject({ job_result: "done" });
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
    await session.writeUnits({
      "cut.service": [...sleeper, "ExecStartPre=/bin/sh -c 'until test -e /run/go-on; do sleep 0.1; done'"],
    });
    const answer = session.api.restartService({ params: { name: "cut" } }).then(
      ({ success }) => ({ success, status: 200 }),
      (error: unknown) => ({ success: false, status: error instanceof ApiError ? error.status : 0 }),
    );
    await eventually(async () => {
      expect(await property(session, "cut.service", "ActiveState")).toBe("activating");
    });
    await systemctl("restart", "dbus.service");
    // Whatever was known when the bus came back: never a success before the unit is up.
    expect(await Promise.race([answer, sleep(1_000, "not yet")])).not.toMatchObject({ success: true });
    await session.shell("touch /run/go-on");
    const told = await answer;

    expect([
      { success: true, status: 200 },
      { success: false, status: 503 },
    ]).toContainEqual(told);
    if (told.success) expect(await property(session, "cut.service", "ActiveState")).toBe("active");
    await backAgain();
    await eventually(async () => expect(await entry(session, "cut.service")).toMatchObject({ running: true }));
  });
});
