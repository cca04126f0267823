import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import { createHostStopping } from "#adapters/operations/host-stop.ts";
import { openOperationStore } from "#adapters/operations/index.ts";
import { isAlive, ownProcess } from "#adapters/operations/process.ts";
import { createHostPackages, type HostPackages } from "#adapters/packages/index.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { createHostUnits } from "#adapters/systemd/index.ts";
import type { Config } from "#config/load.ts";
import { createCheckReport } from "#domain/health/report.ts";
import type { TaskOutcome } from "#domain/operations/task.ts";
import { runTask } from "#domain/operations/task.ts";
import type { ConditionReport } from "#domain/updates/guard.ts";
import { updateKinds, updateVerbs } from "#domain/updates/verbs.ts";
import type { Logger } from "#telemetry/logger.ts";
import { createHostChecks } from "./host-checks.ts";
import { createHostUpdates } from "./host-updates.ts";
import { asVerbs } from "./task-verbs.ts";

/** How the host is, looked at by the checks that the service has as well. */
function createReport(config: Config, packages: HostPackages): ConditionReport & { readonly dispose: () => void } {
  const host = createHostFacts({ clock: systemClock });
  const systemd = createHostUnits({ clock: systemClock, onStateChange: () => undefined });
  const journal = createHostJournal({ dir: config.settings.journal?.dir, onUnreadable: () => undefined });
  const { checks, plan } = createHostChecks({ config, host, systemd, journal, packages });
  const look = createCheckReport({ checks, settings: plan, clock: systemClock });
  return {
    async look(signal) {
      const [statuses, failed] = await Promise.all([look(signal), systemd.units.failed()]);
      // Without an answer nobody knows what has failed: that is worse than before where there was one.
      const checks = { ...statuses, service_manager: failed === undefined ? "fail" : "pass" } as const;
      return { checks, failedUnits: (failed ?? []).map(({ name }) => name) };
    },
    dispose() {
      journal.dispose();
      systemd.dispose();
      host.dispose();
    },
  };
}

/**
 * Does an operation that has been written down, in this process, which is not the service's. All that it needs is loaded by
 * now: an update may replace the files that this program is made of.
 */
export async function runOperation(id: string, config: Config, log: Logger): Promise<TaskOutcome> {
  const stop = new AbortController();
  process.once("SIGTERM", () => stop.abort(new Error("stopped by SIGTERM")));
  const packages = createHostPackages({ exec, clock: systemClock });
  const report = createReport(config, packages);
  try {
    const { settings } = config;
    const { manager, backends } = await createHostUpdates(config, packages);
    if (manager === undefined) throw new Error("cannot do anything with packages: this host has no package manager");
    const verbs = updateVerbs({
      manager,
      backends,
      report,
      clock: systemClock,
      guardMs: (settings.updates?.guard_minutes ?? 5) * 60_000,
      keepSnapshots: settings.updates?.keep_snapshots ?? 10,
    });
    return await runTask({
      id,
      store: openOperationStore({ stateDir: config.stateDir }),
      launcher: { isAlive },
      kinds: updateKinds,
      verbs: asVerbs(verbs),
      clock: systemClock,
      self: ownProcess(),
      signal: stop.signal,
      isHostStopping: createHostStopping({ exec }),
      onTrouble: (error) => log.warn({ err: error, operation_id: id }, "operation disturbed"),
    });
  } finally {
    report.dispose();
  }
}
