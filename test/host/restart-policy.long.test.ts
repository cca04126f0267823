import { beforeAll, describe, expect, it } from "vitest";
import { ApiError, createClient } from "#client/index.ts";
import { permittedNames, protectedUnits } from "#domain/system/service-policy.ts";
import { isRecord } from "#kernel/values.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

const sleeper = ["[Service]", "ExecStart=/bin/sleep infinity"];
const failing = ["[Service]", "Type=oneshot", "ExecStart=/bin/false"];

/** A name for each pattern of the table, and the reason that the table gives. */
const namesOf = (units: typeof protectedUnits) =>
  units.flatMap(({ names, reason }) =>
    names.map((pattern) => [`${pattern.replaceAll("*", "probe")}.service`, reason] as const),
  );
const protectedNames = namesOf(protectedUnits);
const confirmableNames = namesOf(protectedUnits.filter(({ isConfirmable }) => isConfirmable));
const closedNames = namesOf(protectedUnits.filter(({ isConfirmable }) => !isConfirmable));

// The rule is the same whoever the service is: the package's user, which polkit stands in front of, and root, whom nothing stops.
describe.each(["steward", "root"] as const)("as %s", (user) => {
  describeOnHost("the policy of restarts", { user }, (session) => {
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
      // What the table names and this host does not have.
      const missing = await session.shell(
        `for n in ${protectedNames.map(([name]) => `'${name}'`).join(" ")}; do systemctl cat -- $n >&2 || echo $n; done`,
      );
      await session.writeUnits(
        Object.fromEntries(
          missing
            .trim()
            .split("\n")
            .map((name) => [name, sleeper]),
        ),
      );
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

    it.each(closedNames)("refuses %s, which %s, and its dry run says the same", async (name, reason) => {
      const before = await session.shell(`systemctl show -P InvocationID -- '${name}'`);
      for (const isDryRun of [true, false]) {
        const error = await refusal(restart(name, isDryRun));
        expect(error).toMatchObject({
          status: 400,
          code: "VALIDATION_ERROR",
          details: { field: "name", setting: "services.allow" },
        });
        expect(error.message).toMatch(/^cannot restart \S+: Steward protects /);
        expect(error.message).toContain(`, which ${reason} (add `);
      }
      expect(await session.shell(`systemctl show -P InvocationID -- '${name}'`)).toBe(before);
    });

    it.each(confirmableNames)(
      "refuses %s unless it is confirmed, and its dry run tells the danger",
      async (name, reason) => {
        const before = await session.shell(`systemctl show -P InvocationID -- '${name}'`);
        const error = await refusal(restart(name));
        expect(error).toMatchObject({ status: 400, details: { field: "confirm", setting: "services.allow" } });
        expect(error.message).toContain(`, which ${reason} (confirm it with confirm: true, or add `);
        expect(await restart(name, true)).toMatchObject({ risk: "risky", reason: expect.stringContaining(reason) });
        expect(await session.shell(`systemctl show -P InvocationID -- '${name}'`)).toBe(before);
      },
    );

    it.each([
      ["emergency", "emergency.service"],
      ["systemd-poweroff", "systemd-poweroff.service"],
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

    it.each(["told@evil", "modprobe@sctp", "runs@other", "getty@tty1"])(
      "refuses %s, which root has not started",
      async (name) => {
        for (const isDryRun of [true, false])
          expect(await refusal(restart(name, isDryRun))).toMatchObject({
            status: 400,
            details: { field: "name", setting: "services.allow" },
          });
        expect(await state(`${name}.service`)).toBe("inactive");
        expect(await session.shell("ls -d /root/told-* 2>/dev/null || true")).toBe("");
      },
    );

    it("starts none of them", async () => {
      for (const unit of ["debug-shell", "initrd-probe", "aliased"])
        expect(await state(`${unit}.service`)).toBe("inactive");
    });

    // Root is asked nothing.
    const itUnlessRoot = user === "root" ? () => undefined : it;
    itUnlessRoot("plans for each service of the host what polkit permits", async () => {
      const { services } = await session.api.listServices({ query: { limit: 1000 } });
      // Polkit is told a unit's own name, and aliased.service is protected by another.
      const units = services.map(({ name }) => name).filter((name) => !/@\.|^aliased\./.test(name));
      const pid = await session.service.pid();
      const check = `pkcheck --action-id org.freedesktop.systemd1.manage-units --process ${pid} --detail verb restart`;
      const list = units.map((name) => `'${name}'`).join(" ");
      const asked = await session.shell(
        `for n in ${list}; do ${check} --detail unit "$n" >/dev/null 2>&1 && echo yes || echo no; done`,
      );
      const byPolkit = asked.trim().split("\n");
      const answers: (readonly [name: string, ofPlan: string, ofPolkit: string | undefined])[] = [];
      for (const [index, name] of units.entries()) {
        const answer: unknown = await restart(name, true).catch((failure: unknown) => failure);
        const isOfPolicy = answer instanceof ApiError && answer.details?.["setting"] === "services.allow";
        // What cannot be restarted for other reasons (masked, or by dependency only) tells nothing of the policy.
        if (answer instanceof Error && !isOfPolicy) continue;
        // What has to be confirmed is done by root.
        const isPermitted = isRecord(answer) && !(answer instanceof Error) && answer["risk"] !== "risky";
        answers.push([name, isPermitted ? "yes" : "no", byPolkit[index]]);
      }
      expect(answers).toEqual(answers.map(([name, ofPlan]) => [name, ofPlan, ofPlan]));
      for (const answer of ["yes", "no"])
        expect(answers.filter(([, each]) => each === answer).length).toBeGreaterThan(10);
    });

    it("restarts parts of systemd that are safe, and the host is as before", async () => {
      const names = protectedUnits.flatMap(permittedNames).filter((name) => !name.includes("*"));
      const running = await session.shell(
        `systemctl list-units --plain --no-legend --state=running ${names.map((name) => `${name}.service`).join(" ")}`,
      );
      const units = running
        .trim()
        .split("\n")
        .map((line) => line.split(/\s/)[0] ?? "");
      expect(units).toContain("systemd-journald.service");
      for (const name of units) {
        expect(await restart(name, true)).toMatchObject({ dry_run: true, units: [name] });
        expect(await restart(name)).toMatchObject({ success: true, running: true, job_result: "done" });
      }
      await session.shell("loginctl list-sessions; logger --tag probe written after the restart; journalctl --sync");
      expect(await session.shell("journalctl -o cat -t probe")).toBe("written after the restart\n");
      expect((await session.api.getHealth()).components).toMatchObject({ ops: true, cli: true });
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
  });
});
