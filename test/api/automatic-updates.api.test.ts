import { afterEach, describe, expect, it } from "vitest";
import type { Automatic } from "#app/parts/automatic-updates.ts";
import type { WindowPlan } from "#domain/access/window-gate.ts";
import { createFakeCalendar } from "../fakes/calendar.ts";
import { fakePackage } from "../fakes/package-manager.ts";
import { send, startTestService, type TestService } from "./harness.ts";

const hourMs = 3_600_000;
const plan: Automatic = {
  calendar: createFakeCalendar(24 * hourMs),
  durationMs: hourMs,
  what: "security",
  isGuarded: false,
  reboot: "never",
  notify: "changes",
};

let service: TestService;
afterEach(() => service.app.close());

async function start(changes: Partial<Automatic> = {}): Promise<void> {
  service = await startTestService({ automatic: { ...plan, ...changes } });
  service.packageManager.packages.set("openssl", fakePackage("openssl", "3.0"));
  service.packageManager.packages.set("nano", fakePackage("nano", "7.0"));
  service.packageManager.repository.set("openssl", { version: "3.1", isSecurity: true });
  service.packageManager.repository.set("nano", { version: "7.1", isSecurity: false });
}

const state = async () => {
  const { status, json } = await send(service, { path: "/api/v1/updates/automatic", key: service.admin });
  expect(status).toBe(200);
  return json as Record<string, unknown>;
};
/** On past the time at which the update begins, half an hour after midnight at the earliest. */
const pass = async (ms = 20 * 60_000): Promise<void> => {
  await service.clock.advance(ms);
  for (let turn = 0; turn < 50; turn += 1) await service.clock.advance(1_000);
};
const versionOf = (name: string) => service.packageManager.packages.get(name)?.version;
const mails = () => service.notifiers.email.taken.map(({ title }) => title);

describe("automatic updates", () => {
  it("are off by default", async () => {
    service = await startTestService({ automatic: undefined });
    expect(await state()).toEqual({
      ...{ enabled: false, what: null, guard: false, reboot: "never", blocked: null, next: null, last: null },
    });
  });

  it("install security updates, once in a window, and report it", async () => {
    await start();
    expect(await state()).toMatchObject({
      enabled: true,
      what: "security",
      blocked: null,
      next: {
        opens_at: "2026-01-01T00:00:00.000Z",
        starts_at: "2026-01-01T00:15:00.000Z",
        closes_at: "2026-01-01T01:00:00.000Z",
      },
      last: null,
    });
    await pass();
    expect([versionOf("openssl"), versionOf("nano")]).toEqual(["3.1", "7.0"]);
    const { last, next } = await state();
    expect(last).toMatchObject({
      window_opened_at: "2026-01-01T00:00:00.000Z",
      outcome: "installed",
      message: expect.stringMatching(/^1 package updated behind the snapshot /),
      operation_id: "operation-1",
      reboot_at: null,
    });
    expect(next).toMatchObject({ opens_at: "2026-01-02T00:00:00.000Z" });
    expect(mails()).toEqual(["Automatic updates installed on host.example.org"]);
    const { json } = await send(service, { path: "/api/v1/audit?operation=updates.automatic", key: service.admin });
    expect(json).toMatchObject({ entries: [{ outcome: "ok", operation_id: "operation-1", key_id: null }] });
    service.packageManager.repository.set("openssl", { version: "3.2", isSecurity: true });
    await pass();
    expect(versionOf("openssl")).toBe("3.1");
    await pass(24 * hourMs);
    expect(versionOf("openssl")).toBe("3.2");
  });

  it("report nothing when there is nothing to update", async () => {
    await start();
    service.packageManager.repository.clear();
    await pass();
    expect((await state())["last"]).toMatchObject({ outcome: "nothing", operation_id: null });
    expect(mails()).toEqual([]);
  });

  it("are refused while another program does the same, and report it once", async () => {
    await start();
    service.packageManager.updaters = ["cron.service"];
    const reason = expect.stringContaining("cron.service installs updates on this host as well (systemctl disable");
    expect(await state()).toMatchObject({ blocked: reason });
    await pass();
    await pass(24 * hourMs);
    expect((await state())["last"]).toMatchObject({ outcome: "refused", message: reason, operation_id: null });
    expect(versionOf("openssl")).toBe("3.0");
    expect(mails()).toEqual(["Automatic updates not installed on host.example.org"]);
  });

  it.each([
    [
      "the repository does not answer",
      () => {
        service.packageManager.trouble = "the repository does not answer";
      },
      () => {
        service.packageManager.trouble = null;
      },
    ],
    [
      "packages are locked",
      () => {
        service.packageManager.lockedBy = { pid: 7, program: "apt-get" };
      },
      () => {
        service.packageManager.lockedBy = undefined;
      },
    ],
  ])("retry when %s, as long as the window is open", async (_, fail, repair) => {
    await start();
    fail();
    await pass();
    expect((await state())["last"]).toBeNull();
    repair();
    await pass(5 * 60_000);
    expect((await state())["last"]).toMatchObject({ outcome: "installed" });
    fail();
    await pass(25 * hourMs);
    expect((await state())["last"]).toMatchObject({ outcome: "refused", operation_id: null });
    expect(versionOf("openssl")).toBe("3.1");
    expect(mails()).toHaveLength(2);
  });

  it("reboot the host where the settings say so and it is needed", async () => {
    await start({ reboot: "when_needed" });
    service.packageManager.requiresReboot = true;
    await pass();
    const { last } = await state();
    expect(last).toMatchObject({ outcome: "installed", message: expect.stringContaining("; the host reboots at ") });
    expect(service.reboots.messages).toEqual(["Steward reboots this host to complete updates"]);
  });

  it("do not reboot it by default, or while it is inhibited", async () => {
    await start();
    service.packageManager.requiresReboot = true;
    await pass();
    expect((await state())["last"]).toMatchObject({ message: expect.stringMatching(/; a reboot completes it$/) });
    await service.app.close();
    await start({ reboot: "in_window" });
    service.packageManager.requiresReboot = true;
    service.reboots.become({ inhibitors: [{ who: "backup", why: "runs", blocks: true }] });
    await pass();
    expect((await state())["last"]).toMatchObject({
      message: expect.stringMatching(/; a reboot completes it, but cannot reboot: it is inhibited by backup: runs$/),
      reboot_at: null,
    });
    expect(service.reboots.messages).toEqual([]);
  });

  describe("with maintenance windows", () => {
    const window = (name: string, rest: Partial<WindowPlan>, hour = 0, hours = 1): WindowPlan => ({
      ...{ name, cron: "", timezone: undefined, allow: [], deny: [], isSilent: false, ...rest },
      times: { calendar: createFakeCalendar(24 * hourMs), durationMs: hours * hourMs, delayMs: hour * hourMs },
    });

    it("wait while one holds them back, and begin afterwards", async () => {
      await start({ durationMs: 4 * hourMs });
      service.service.replaceWindows([window("freeze", { deny: ["updates:apply"] }, 0, 2)]);
      await pass(90 * 60_000);
      expect(versionOf("openssl")).toBe("3.0");
      await pass(40 * 60_000);
      expect(versionOf("openssl")).toBe("3.1");
    });

    it("are refused where it holds them back to the end, with the reason", async () => {
      await start();
      service.service.replaceWindows([window("night", { allow: ["updates:apply"] }, 5)]);
      await pass(2 * hourMs);
      expect(versionOf("openssl")).toBe("3.0");
      const { last } = await state();
      expect(last).toMatchObject({ outcome: "refused", message: expect.stringContaining("outside the window night") });
    });

    it("do not reboot the host where one forbids that", async () => {
      await start({ reboot: "when_needed" });
      service.packageManager.requiresReboot = true;
      service.service.replaceWindows([window("freeze", { deny: ["system:reboot"] }, 0, 2)]);
      await pass();
      expect((await state())["last"]).toMatchObject({
        outcome: "installed",
        reboot_at: null,
        message: expect.stringContaining(
          "a reboot completes it, but cannot use system:reboot inside the window freeze",
        ),
      });
    });
  });
});
