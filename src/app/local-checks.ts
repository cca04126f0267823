import { systemClock } from "#adapters/clock/index.ts";
import { exec } from "#adapters/exec/index.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import { createHostPackages } from "#adapters/packages/index.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { createHostUnits } from "#adapters/systemd/index.ts";
import type { Config } from "#config/load.ts";
import type { HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import type { CheckHistory } from "#domain/health/ports.ts";
import { createCheckRunner } from "#domain/health/runner.ts";
import { createServicePolicy } from "#domain/system/service-policy.ts";
import { createHostChecks } from "./checks.ts";

/** Nothing is kept: the history is the service's, and it may be starting at this moment. */
const noHistory: Pick<CheckHistory, "record" | "state" | "forget"> = {
  record: () => undefined,
  state: () => undefined,
  forget: () => undefined,
};

/**
 * Runs all checks of the settings once, without a service; changes nothing on the host, the state folder included. Those that
 * plugins bring are left out: only the service knows which of them may run.
 */
export async function runLocalChecks(
  config: Config,
  onResult: (result: HealthCheckResult) => void,
): Promise<HealthCheckList> {
  const host = createHostFacts({ clock: systemClock });
  const systemd = createHostUnits({
    clock: systemClock,
    policy: createServicePolicy(config.settings.services),
    onStateChange: () => undefined,
  });
  const journal = createHostJournal({ dir: config.settings.journal?.dir, onUnreadable: () => undefined });
  const packages = await createHostPackages({ exec, clock: systemClock });
  const { checks, plan } = createHostChecks({ config, host, systemd, journal, packages, exec });
  const runner = createCheckRunner({
    checks,
    settings: plan,
    history: noHistory,
    clock: systemClock,
    onRun: ({ result }) => onResult(result),
    onTrouble: () => undefined,
  });
  try {
    return await runner.list();
  } finally {
    runner.dispose();
    journal.dispose();
    systemd.dispose();
    host.dispose();
  }
}
