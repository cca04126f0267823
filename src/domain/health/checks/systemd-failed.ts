import type { Check } from "../check.ts";
import { listNames } from "../figures.ts";
import { createIgnore } from "../ignore.ts";
import type { UnitStates } from "../ports.ts";
import { counted } from "../wording.ts";

/** Services that systemd gave up on. `ignore` takes unit names and patterns. */
export function systemdFailedCheck({ units }: { units: Pick<UnitStates, "list"> }): Check {
  return {
    id: "systemd_failed",
    name: "Failed services",
    category: "services",
    severity: "high",
    async run({ ignore }) {
      const loaded = (await units.list()).filter(({ loadState }) => loadState !== "");
      if (loaded.length === 0) return { status: "skip", message: "systemd is not running on this host", details: {} };
      const isIgnored = createIgnore(ignore);
      const failed = loaded.filter(({ name, activeState }) => activeState === "failed" && !isIgnored(name));
      const details = { units: failed.map(({ name, result }) => ({ name, result })) };
      if (failed.length === 0) return { status: "pass", message: "No service has failed", details };
      const names = failed.map(({ name, result }) => `${name} (${result})`);
      return {
        status: "fail",
        message: `${counted(failed.length, "service")} failed: ${listNames(names)}`,
        details,
      };
    },
  };
}
