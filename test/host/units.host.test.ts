import { describe, expect, it } from "vitest";
import { systemClock } from "#adapters/clock/index.ts";
import { createLiveUnits } from "#adapters/systemd/live.ts";
import { defaultServicePolicy } from "#domain/system/service-policy.ts";
import { failedUnitsSuite, unitsSuite } from "../ports/units.suite.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("units: systemd over D-Bus", { checks: [] }, (session) => {
  const connect = async () =>
    createLiveUnits({
      clock: systemClock,
      policy: defaultServicePolicy,
      socket: await session.host.busSocket(),
      onStateChange: () => undefined,
    });

  describe("as they are", () => {
    unitsSuite(async () => {
      await session.writeUnits({
        "suite-running.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
        "suite-failing.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"],
        "suite-masked.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
        "suite-refused.service": ["[Unit]", "RefuseManualStart=yes", "[Service]", "ExecStart=/bin/sleep infinity"],
      });
      await session.shell("rm /etc/systemd/system/suite-masked.service && systemctl mask suite-masked.service");
      await session.shell("systemctl start suite-running.service");
      const units = await connect();
      return {
        units,
        running: "suite-running.service",
        failing: "suite-failing.service",
        masked: "suite-masked.service",
        refused: "suite-refused.service",
        dispose: () => Promise.resolve(units.dispose()),
      };
    });
  });

  const oneshot = ["[Service]", "Type=oneshot", "RemainAfterExit=yes"];
  const mount = ["[Mount]", "What=box", "Where=/mnt/box", "Type=tmpfs"];
  const makeFail = async (): Promise<void> => {
    await session.writeUnits({
      "good.service": [...oneshot, "ExecStart=/usr/bin/test -e /run/good"],
      "bad.service": [...oneshot, "ExecStart=/bin/false"],
      "mnt-box.mount": [...mount, "Options=nonsense=1"],
      "far.socket": ["[Socket]", "ListenStream=192.0.2.200:9"],
      "far.service": ["[Service]", "ExecStart=/bin/true"],
    });
    await session.shell("systemctl start good.service bad.service mnt-box.mount far.socket || true");
  };

  it("lists units of every kind once they have failed", async () => {
    const units = await connect();
    try {
      expect(await units.failed()).toEqual([]);
      await makeFail();
      expect(await units.failed()).toEqual([
        { name: "bad.service", result: "exit-code" },
        { name: "far.socket", result: "resources" },
        { name: "good.service", result: "exit-code" },
        { name: "mnt-box.mount", result: "exit-code" },
      ]);
    } finally {
      units.dispose();
    }
  });

  describe("that have failed", () => {
    failedUnitsSuite(async () => {
      await makeFail();
      await session.writeUnits({ "mnt-box.mount": mount });
      await session.shell("touch /run/good");
      const units = await connect();
      return {
        units,
        recovering: ["good.service", "mnt-box.mount"],
        failing: "bad.service",
        dispose: () => Promise.resolve(units.dispose()),
      };
    });
  });
});
