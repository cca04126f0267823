import { beforeAll, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];
const failing = ["[Service]", "Type=oneshot", "ExecStart=/bin/false"];

// The rule is the same whoever the service is: the package's user, which polkit stands in front of, and root, whom nothing stops.
describe.each(["steward", "root"] as const)("as %s", (user) => {
  describeOnHost(
    "the policy of restarts",
    (session) => {
      const restart = (name: string, isDryRun = false) =>
        session.api.restartService({ params: { name }, ...(isDryRun && { query: { dry_run: true } }) });
      const state = async (unit: string): Promise<string> =>
        (await session.shell(`systemctl show -P ActiveState -- '${unit}'`)).trim();
      const configure = async (config: string): Promise<void> => {
        await session.host.writeFile("/etc/steward/config.yaml", config);
        await session.service.restart();
      };

      beforeAll(async () => {
        await session.writeUnits({
          "initrd-probe.service": sleeper,
          "initrd-broken.service": failing,
          "broken.service": failing,
          "told@.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/sh -c 'touch /root/told-%I'"],
          "runs@.service": sleeper,
          "aliased.service": [...sleeper, "[Install]", "Alias=debug-shell2.service initrd-alias.service"],
        });
        await session.shell(
          [
            "ln -s /lib/systemd/system/debug-shell.service /etc/systemd/system/harmless.service",
            "ln -s initrd-probe.service /etc/systemd/system/innocent.service",
            "systemctl enable aliased.service",
            "systemctl daemon-reload",
            "systemctl start runs@one.service",
          ].join(" && "),
        );
      });

      it.each([
        ["debug-shell", "debug-shell.service"],
        ["emergency.service", "emergency.service"],
        ["systemd-poweroff", "systemd-poweroff.service"],
        ["systemd-logind", "systemd-logind.service"],
        ["dbus", "dbus.service"],
        ["initrd-probe", "initrd-probe.service"],
        // Other names of units that are protected.
        ["harmless", "debug-shell.service"],
        ["innocent", "initrd-probe.service"],
        ["aliased", "initrd-alias.service"],
        ["initrd-alias", "initrd-alias.service"],
      ])("refuses %s, and its dry run says the same", async (name, unit) => {
        const answers = [await refusal(restart(name, true)), await refusal(restart(name))];
        const expected = {
          status: 400,
          code: "VALIDATION_ERROR",
          message: expect.stringMatching(/^cannot restart .*Steward protects .* \(add \S+ to services\.allow/),
          details: { field: "name", issue: expect.stringContaining(unit), setting: "services.allow" },
        };
        expect(answers).toMatchObject([expected, expected]);
        expect(answers[0]).toMatchObject({ message: answers[1]?.message });
      });

      it.each(["told@evil", "modprobe@sctp", "runs@other"])("refuses %s, which root has not started", async (name) => {
        for (const isDryRun of [true, false])
          expect(await refusal(restart(name, isDryRun))).toMatchObject({
            status: 400,
            details: { field: "name", setting: "services.allow" },
          });
        expect(await state(`${name}.service`)).toBe("inactive");
        expect(await session.shell("ls -d /root/told-* 2>/dev/null || true")).toBe("");
      });

      it("starts none of them", async () => {
        for (const unit of ["debug-shell", "initrd-probe", "aliased"])
          expect(await state(`${unit}.service`)).toBe("inactive");
      });

      it("restarts an instance that runs", async () => {
        expect(await restart("runs@one")).toMatchObject({ success: true, running: true });
      });

      it("holds for the fix of failed units", async () => {
        await session.shell("systemctl start broken.service initrd-broken.service || true");
        const params = { check_id: "systemd_failed" };
        const plan = await session.api.fixCheck({ params, query: { dry_run: true } });
        expect(plan).toMatchObject({
          steps: ["restart broken.service"],
          reason: expect.stringMatching(/^initrd-broken\.service is left alone: Steward protects /),
        });
        const before = await session.shell("systemctl show -P InactiveEnterTimestampMonotonic initrd-broken.service");
        const result = await session.api.fixCheck({ params });
        expect(result).toMatchObject({
          success: false,
          steps: [{ action: "restart broken.service" }],
          message: expect.stringContaining("initrd-broken.service is left alone"),
        });
        expect(await session.shell("systemctl show -P InactiveEnterTimestampMonotonic initrd-broken.service")).toBe(
          before,
        );
        await session.shell("systemctl reset-failed broken.service initrd-broken.service");
      });

      it("says no more to a key that may not restart the unit", async () => {
        const body = { name: "cron only", scopes: ["services:restart:cron.service"] };
        const { key } = await session.api.createKey({ body });
        const api = createClient({ url: session.service.url, key });
        expect(await refusal(api.restartService({ params: { name: "debug-shell" } }))).toMatchObject({ status: 403 });
      });

      it("is widened and narrowed by the settings", async () => {
        await configure("services: { allow: [initrd-probe, 'told@*'], deny: [cron] }\n");
        expect(await restart("innocent", true)).toMatchObject({ dry_run: true, units: ["initrd-probe.service"] });
        expect(await restart("innocent")).toMatchObject({ success: true, name: "initrd-probe.service" });
        expect(await state("initrd-probe.service")).toBe("active");
        expect(await restart("told@good")).toMatchObject({ job_result: "done" });
        expect(await session.shell("ls /root/told-good")).toBe("/root/told-good\n");
        expect(await refusal(restart("cron"))).toMatchObject({
          status: 400,
          message:
            'cannot restart cron.service: the setting services.deny has "cron" (change services.deny in the settings to permit this)',
        });
        expect(await refusal(restart("debug-shell"))).toMatchObject({ status: 400 });
      });

      it("lets a protected unit that is allowed be reset and started after its start limit", async () => {
        await session.writeUnits({
          "initrd-probe.service": ["[Unit]", "StartLimitIntervalSec=1h", "StartLimitBurst=1", ...failing],
        });
        await session.shell(
          "systemctl restart initrd-probe.service || true; systemctl start initrd-probe.service || true",
        );
        await session.writeUnits({ "initrd-probe.service": sleeper });
        expect(await restart("initrd-probe")).toMatchObject({ success: true, active: true });
      });
    },
    { user },
  );
});
