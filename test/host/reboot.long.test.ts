import { expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("a reboot of the host", (session) => {
  const { shell } = session;
  const logind = () =>
    shell(
      "busctl --json=short get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager ScheduledShutdown",
    );

  it("is scheduled with logind, shown by both, and cancelled", async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const plan = await session.api.rebootHost({ body: { at }, query: { dry_run: true } });
    expect(plan).toMatchObject({ steps: [`reboot at ${at}`] });
    expect(await session.api.getReboot()).toEqual({
      scheduled_at: null,
      users: [],
      inhibitors: [],
      operation_id: null,
    });
    expect(await session.api.rebootHost({ body: { at, message: "-x $(id) --updates" } })).toMatchObject({
      scheduled_at: at,
    });
    expect(JSON.parse(await logind())).toMatchObject({ data: ["reboot", Date.parse(at) * 1000] });
    expect(await session.api.getReboot()).toMatchObject({ scheduled_at: at });
    expect(await refusal(session.api.rebootHost({ body: {} }))).toMatchObject({ code: "CONFLICT" });
    expect(await session.api.cancelReboot()).toMatchObject({ success: true, scheduled_at: at });
    expect(JSON.parse(await logind())).toMatchObject({ data: ["", expect.any(Number)] });
    expect(await refusal(session.api.cancelReboot())).toMatchObject({ code: "NOT_FOUND" });
  });

  it("is refused while a program inhibits it, and leaves a shutdown of others alone", async () => {
    await shell(
      "systemd-run --quiet --unit=holder systemd-inhibit --what=shutdown --who=Backup --why='a backup runs' sleep infinity",
    );
    await eventually(async () =>
      expect(await session.api.getReboot()).toMatchObject({
        inhibitors: [{ who: "Backup", why: "a backup runs", blocks: true }],
      }),
    );
    expect(await refusal(session.api.rebootHost({ body: {} }))).toMatchObject({
      code: "CONFLICT",
      message: "cannot reboot: it is inhibited by Backup: a backup runs",
    });
    // Also where logind itself lets nobody past it: systemd does it then, at the same time.
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const message = "-x $(id) $HOME";
    const passing = { body: { at, message, ignore_inhibitors: true } };
    expect(await session.api.rebootHost({ ...passing, query: { dry_run: true } })).toMatchObject({
      steps: ["interrupt Backup: a backup runs", `reboot at ${at}`],
    });
    expect(await session.api.rebootHost(passing)).toMatchObject({ scheduled_at: at });
    expect(await session.api.getReboot()).toMatchObject({ scheduled_at: at });
    expect(await refusal(session.api.rebootHost(passing))).toMatchObject({ code: "CONFLICT" });
    expect(await session.api.cancelReboot()).toMatchObject({ success: true, scheduled_at: at });
    expect(await session.api.getReboot()).toMatchObject({ scheduled_at: null });
    expect(await logind()).not.toContain("reboot");
    expect(await shell("systemctl list-units --all --no-legend 'steward-reboot*'")).toBe("");
    await shell("systemctl stop holder; shutdown -P +60 >/dev/null 2>&1");
    expect(await refusal(session.api.cancelReboot())).toMatchObject({ code: "NOT_FOUND" });
    expect(await logind()).toContain("poweroff");
    await shell("shutdown -c >/dev/null 2>&1");
  });

  it("happens although a program inhibits it, where that is asked for", async () => {
    await shell(
      "systemd-run --quiet --unit=holder systemd-inhibit --what=shutdown --who=Backup --why='a backup runs' sleep infinity",
    );
    await eventually(async () =>
      expect(await session.api.getReboot()).toMatchObject({ inhibitors: [{ who: "Backup", blocks: true }] }),
    );
    const up = session.host.nextBoot();
    expect(await session.api.rebootHost({ body: { ignore_inhibitors: true } })).toMatchObject({ success: true });
    await up;
    await session.service.restart();
    expect(await session.api.getReboot()).toMatchObject({ scheduled_at: null, inhibitors: [] });
  });

  it("happens, and the host is there again under another boot id", async () => {
    const bootId = () => shell("cat /proc/sys/kernel/random/boot_id");
    const before = await bootId();
    const up = session.host.nextBoot();
    expect(await session.api.rebootHost({ body: { message: "updates" } })).toMatchObject({ success: true });
    await up;
    expect(await bootId()).not.toBe(before);
    await session.service.restart();
    const { entries } = await session.api.listAudit({ query: { limit: 50 } });
    expect(entries.filter(({ operation }) => operation === "rebootHost")).not.toEqual([]);
    expect(await session.api.getReboot()).toMatchObject({ scheduled_at: null });
  });
});
