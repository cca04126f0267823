import { systemClock } from "#adapters/clock/index.ts";
import type { Config } from "#config/load.ts";
import type { HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import { createCheckRunner } from "#domain/health/runner.ts";
import type { CheckHistory } from "#domain/ports/check-history.ts";
import { createHostChecks } from "./checks.ts";
import { openHost } from "./host.ts";
import { untraced } from "./tracing/tracing.ts";

/** The history belongs to the service, which may be starting. */
const noHistory: Pick<CheckHistory, "record" | "state" | "forget"> = {
  record: () => undefined,
  state: () => undefined,
  forget: () => undefined,
};

/** Runs all checks once, read-only, without a service and without plugins: only the service knows which of them may run. */
export async function runLocalChecks(
  config: Config,
  onResult: (result: HealthCheckResult) => void,
): Promise<HealthCheckList> {
  const host = openHost(config.settings, untraced);
  const { checks, plan } = createHostChecks({ config, host, exec: untraced.exec });
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
    host.dispose();
  }
}
