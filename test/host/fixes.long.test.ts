import { describe, expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { fixesOf, ownTraces, unchanged } from "./support/fixes.ts";
import { withKernelClock } from "./support/kernel-clock.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("fixes of services and of the clock", { checks: ["systemd_failed", "time_sync"] }, (session) => {
  const { check, fix, plan } = fixesOf(session);
  const start = (unit: string) => session.shell(`systemctl start ${unit} || true`);
  const failedNames = async (): Promise<readonly string[]> => {
    const { details } = await check("systemd_failed");
    return (details as { units: { name: string }[] }).units.map(({ name }) => name);
  };
  const needing = (path: string) => [
    "[Service]",
    "Type=oneshot",
    "RemainAfterExit=yes",
    `ExecStart=/usr/bin/test -e ${path}`,
  ];

  describe("systemd_restart_failed", () => {
    it("starts a service again whose cause of failure is gone", async () => {
      await session.writeUnits({ "needs.service": needing("/run/needed") });
      await start("needs.service");
      await eventually(async () => expect(await failedNames()).toEqual(["needs.service"]));
      await session.shell("touch /run/needed");

      const before = await fileTree(session);
      expect(await plan("systemd_failed")).toMatchObject({
        steps: ["restart needs.service"],
        units: ["needs.service"],
        fix_id: "systemd_restart_failed",
        risk: "moderate",
      });
      expect(await failedNames()).toEqual(["needs.service"]);

      expect(await fix("systemd_failed")).toMatchObject({
        success: true,
        steps: [{ action: "restart needs.service", status: "done", message: "needs.service is active (exited)" }],
        check: { status: "pass" },
      });
      expect(changesSince(before, await fileTree(session), ownTraces)).toEqual(unchanged);
    });

    it("reports each unit, those that recover and those that do not", async () => {
      await session.writeUnits({
        "good.service": needing("/run/good"),
        "bad.service": ["[Service]", "ExecStart=/bin/false"],
      });
      await start("good.service bad.service");
      await eventually(async () => expect(await failedNames()).toEqual(["bad.service", "good.service"]));
      await session.shell("touch /run/good");

      expect(await fix("systemd_failed")).toMatchObject({
        success: false,
        message:
          "systemd_restart_failed could not restart bad.service: it failed again at once (exit-code); see its log",
        steps: [
          { action: "restart bad.service", status: "failed" },
          { action: "restart good.service", status: "done" },
        ],
        check: { status: "fail", details: { units: [{ name: "bad.service", result: "exit-code" }] } },
      });
      await session.shell("systemctl reset-failed bad.service");
    });

    it("starts one again that hit its start limit", async () => {
      await session.writeUnits({ "limited.service": needing("/run/limited") });
      for (let attempt = 0; attempt < 7; attempt += 1) await start("limited.service");
      // The result of the unit stays that of its first failure.
      expect(await session.shell("journalctl --sync; journalctl -u limited.service")).toMatch(/repeated too quickly/);
      await session.shell("touch /run/limited");
      expect(await fix("systemd_failed")).toMatchObject({ success: true, check: { status: "pass" } });
    });

    it("sees and starts mounts and sockets that failed", async () => {
      await session.writeUnits({
        "mnt-box.mount": ["[Mount]", "What=box", "Where=/mnt/box", "Type=tmpfs", "Options=nonsense=1"],
        "far.socket": ["[Socket]", "ListenStream=192.0.2.200:9"],
        "far.service": ["[Service]", "ExecStart=/bin/true"],
      });
      await start("mnt-box.mount far.socket");
      await eventually(async () =>
        expect(await check("systemd_failed")).toMatchObject({
          status: "fail",
          message: "2 units failed: far.socket (resources), mnt-box.mount (exit-code)",
        }),
      );
      expect(await fix("systemd_failed")).toMatchObject({
        success: false,
        steps: [
          { action: "restart far.socket", message: "it failed again at once (resources); see its log" },
          { action: "restart mnt-box.mount", message: "it failed again at once (exit-code); see its log" },
        ],
      });
      await session.writeUnits({
        "mnt-box.mount": ["[Mount]", "What=box", "Where=/mnt/box", "Type=tmpfs"],
        "far.socket": ["[Socket]", "ListenStream=/run/far"],
      });
      expect(await fix("systemd_failed")).toMatchObject({
        success: true,
        steps: [{ message: "far.socket is active (listening)" }, { message: "mnt-box.mount is active (mounted)" }],
        check: { status: "pass" },
      });
      await session.shell("systemctl stop far.socket mnt-box.mount");
    });

    it("runs a transient unit again, which systemd would forget if it were reset", async () => {
      await session.shell("systemd-run --unit=passing --property=Type=oneshot test -e /run/passing 2>&1 || true");
      await eventually(async () => expect(await failedNames()).toEqual(["passing.service"]));
      await session.shell("touch /run/passing");
      expect(await fix("systemd_failed")).toMatchObject({ success: true, check: { status: "pass" } });
    });

    it("leaves those failed that systemd does not start, so that the check still reports them", async () => {
      const broken = ["[Service]", "ExecStart=/bin/false"];
      const names = ["asserting", "conditional", "needy", "refusing", "unreadable"].map((name) => `${name}.service`);
      await session.writeUnits(Object.fromEntries(names.map((name) => [name, broken])));
      await start(names.join(" "));
      await eventually(async () => expect(await failedNames()).toEqual(names));
      await session.writeUnits({
        "asserting.service": ["[Unit]", "AssertPathExists=/nowhere", ...broken],
        "conditional.service": ["[Unit]", "ConditionPathExists=/nowhere", ...broken],
        "needy.service": ["[Unit]", "Requires=not-there.service", ...broken],
        "refusing.service": ["[Unit]", "RefuseManualStart=yes", ...broken],
        "unreadable.service": ["[Service]", "ExecStart=not/absolute"],
      });
      expect(await fix("systemd_failed")).toMatchObject({
        success: false,
        steps: [
          { message: "what the unit asserts is not so; it is failed" },
          { message: "systemd did not start it: a condition of the unit is not met" },
          { message: "Unit not-there.service not found." },
          { message: expect.stringMatching(/^Operation refused/) },
          { message: expect.stringMatching(/^systemd could not load the unit \(bad-setting/) },
        ],
      });
      expect(await failedNames()).toEqual(names);
      await session.shell("systemctl reset-failed");
    });

    it("says what is wrong with a masked unit and with one whose file is gone", async () => {
      for (const name of ["masked", "gone"])
        await session.host.writeFile(`/usr/lib/systemd/system/${name}.service`, "[Service]\nExecStart=/bin/false\n");
      await session.shell("systemctl daemon-reload");
      await start("masked.service gone.service");
      await eventually(async () => expect(await failedNames()).toEqual(["gone.service", "masked.service"]));
      await session.shell("rm /usr/lib/systemd/system/gone.service && systemctl mask masked.service 2>&1");
      expect(await fix("systemd_failed")).toMatchObject({
        success: false,
        steps: [
          { status: "failed", message: expect.stringMatching(/^there is no such unit any more/) },
          { status: "failed", message: "the unit is masked (unmask it first)" },
        ],
      });
      await session.shell("systemctl reset-failed");
      expect(await check("systemd_failed")).toMatchObject({ status: "pass" });
    });
  });

  describe("enable_time_sync", () => {
    const install = async (command: string): Promise<void> => {
      await session.writeUnits({
        "clock-setter.service": ["[Service]", `ExecStart=${command}`, "[Install]", "WantedBy=multi-user.target"],
      });
      await session.host.writeFile("/usr/lib/systemd/ntp-units.d/10-test.list", "clock-setter.service\n");
      await session.shell("systemctl stop systemd-timedated.service; timedatectl set-ntp false");
      // systemd answers before it is so for everybody who asks.
      await eventually(async () => expect(await session.shell("timedatectl show --property=NTP")).toBe("NTP=no\n"));
    };

    it("switches it on and waits for the clock to be right", async () => {
      await withKernelClock(async ({ believe }) => {
        await believe(false);
        await install("/bin/sleep infinity");
        expect(await check("time_sync")).toMatchObject({
          status: "fail",
          fixable: true,
          fix_id: "enable_time_sync",
        });
        const before = await fileTree(session);
        expect(await plan("time_sync")).toMatchObject({
          steps: ["switch on time synchronisation (timedatectl set-ntp true)"],
          risk: "safe",
        });
        expect(await session.shell("systemctl is-active clock-setter || true")).toBe("inactive\n");
        expect(changesSince(before, await fileTree(session), ownTraces)).toEqual(unchanged);

        const fixing = fix("time_sync");
        await eventually(async () =>
          expect(await session.shell("systemctl is-active clock-setter || true")).toBe("active\n"),
        );
        await believe(true);
        expect(await fixing).toMatchObject({
          success: true,
          steps: [{ message: "Time synchronisation is on, and the clock is synchronised" }],
          check: { status: "pass", details: { enabled: true } },
        });
        // What makes it start with the host, and nothing else.
        expect(changesSince(before, await fileTree(session), ownTraces)).toEqual({
          ...unchanged,
          added: ["/etc/systemd/system/multi-user.target.wants/clock-setter.service"],
        });
      });
    });

    it("says that its service does not run", async () => {
      await withKernelClock(async ({ believe }) => {
        await believe(false);
        await session.shell("systemctl stop clock-setter.service");
        await install("/bin/false");
        expect(await fix("time_sync")).toMatchObject({
          success: false,
          steps: [{ status: "failed", message: expect.stringMatching(/its service does not run after 20 s/) }],
        });
      });
    });
  });
});
