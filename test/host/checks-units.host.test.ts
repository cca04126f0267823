import { describe, expect } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createLiveUnits } from "#adapters/systemd/live.ts";
import { defaultServicePolicy } from "#domain/system/service-policy.ts";
import { timersSuite } from "../ports/timers.suite.ts";
import { eventually } from "./support/eventually.ts";
import { provoke } from "./support/provoke.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("checks of units and of what they use", (session) => {
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });
  const systemctl = (...words: readonly string[]) => session.host.exec(["systemctl", ...words]);
  const oneshot = (command: string) => ["[Service]", "Type=oneshot", `ExecStart=${command}`];

  provoke("timers", "a timer whose service fails, then succeeds", async (see) => {
    await session.writeUnits({
      "nightly.service": oneshot("/usr/bin/test -e /run/all-is-well"),
      "nightly.timer": ["[Timer]", "OnActiveSec=1ms", "AccuracySec=1ms", "OnUnitActiveSec=1d"],
    });
    await systemctl("start", "nightly.timer");
    await eventually(async () =>
      expect(see(await check("timers"))).toMatchObject({
        status: "fail",
        message: expect.stringContaining(
          "the last run of nightly.service, started by nightly.timer, failed (exit-code",
        ),
        details: { timers: [{ name: "nightly.timer", unit: "nightly.service", result: "exit-code" }] },
      }),
    );
    await session.shell("touch /run/all-is-well && systemctl start nightly.service");
    await eventually(async () => expect(see(await check("timers"))).toMatchObject({ status: "pass" }));
    await systemctl("stop", "nightly.timer");
  });

  describe("timers: systemd over D-Bus", () => {
    timersSuite(async () => {
      await session.writeUnits({
        "failing.service": oneshot("/bin/false"),
        "failing.timer": ["[Timer]", "OnActiveSec=1ms", "AccuracySec=1s", "OnUnitInactiveSec=1h"],
      });
      await systemctl("start", "failing.timer");
      const { timers, dispose } = createLiveUnits({
        clock: systemClock,
        policy: defaultServicePolicy,
        socket: await session.host.busSocket(),
        onStateChange: () => undefined,
      });
      return {
        list: () =>
          eventually(async () => {
            const all = await timers.list();
            const failing = all?.find(({ name }) => name === "failing.timer");
            expect(failing).toMatchObject({ unitActiveState: "failed", nextStartAt: expect.any(Number) });
            await systemctl("stop", "failing.timer");
            await systemctl("reset-failed");
            dispose();
            return all;
          }),
      };
    });
  });
});
