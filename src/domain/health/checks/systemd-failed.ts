import type { FailedUnit, Units } from "#domain/ports/units.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, createIgnore, skip } from "../check.ts";

const describeUnit = ({ name, result }: FailedUnit): string => (result === "" ? name : `${name} (${result})`);

export const systemdFailedCheck = ({ units }: { units: Pick<Units, "failed"> }): BuiltInCheck => ({
  id: "systemd_failed",
  name: "Failed units",
  category: "services",
  severity: "high",
  about:
    "Failed units of every kind: services, mounts, sockets, timers, swap and others. `ignore` takes unit names and " +
    "patterns.",
  meaning: "A systemd unit has failed: its work is not being done.",
  remedy: "Read why (systemctl status UNIT, journalctl -u UNIT), fix that, then start it.",
  fixes: ["systemd_restart_failed"],
  async run({ ignore }) {
    const all = await units.failed();
    if (all === undefined) return skip("systemd is not running on this host");
    const isIgnored = createIgnore(ignore);
    const failed = all.filter(({ name }) => !isIgnored(name));
    const details = { units: failed.map(({ name, result }) => ({ name, result })) };
    if (failed.length === 0) return { status: "pass", message: "No unit has failed", details };
    return {
      status: "fail",
      message: `${counted(failed.length, "unit")} failed: ${listNames(failed.map(describeUnit))}`,
      details,
    };
  },
});
