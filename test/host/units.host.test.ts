import { systemClock } from "#adapters/clock/index.ts";
import { createLiveUnits } from "#adapters/systemd/live.ts";
import { defaultServicePolicy } from "#domain/system/service-policy.ts";
import { unitsSuite } from "../ports/units.suite.ts";
import { describeOnHost } from "./support/session.ts";

describeOnHost("units: systemd over D-Bus", (session) => {
  unitsSuite(async () => {
    await session.writeUnits({
      "suite-running.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
      "suite-failing.service": ["[Service]", "Type=oneshot", "ExecStart=/bin/false"],
      "suite-masked.service": ["[Service]", "ExecStart=/bin/sleep infinity"],
      "suite-refused.service": ["[Unit]", "RefuseManualStart=yes", "[Service]", "ExecStart=/bin/sleep infinity"],
    });
    await session.shell("rm /etc/systemd/system/suite-masked.service && systemctl mask suite-masked.service");
    await session.shell("systemctl start suite-running.service");
    const units = createLiveUnits({
      clock: systemClock,
      policy: defaultServicePolicy,
      socket: await session.host.busSocket(),
      onStateChange: () => undefined,
    });
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
