import { systemClock } from "#adapters/clock/index.ts";
import type { Exec } from "#adapters/exec/index.ts";
import { createHostJournal } from "#adapters/journald/index.ts";
import { createHostPackages } from "#adapters/packages/index.ts";
import { createHostFacts } from "#adapters/procfs/index.ts";
import { createHostUnits } from "#adapters/systemd/index.ts";
import { createHostChecks } from "#app/checks.ts";
import type { Config } from "#config/load.ts";
import { createServicePolicy } from "#domain/system/service-policy.ts";
import { serviceUnit } from "./places.ts";

/** Checks and fixes as the service has them, looked up by root itself: what the service found is not believed. */
export async function withRootHealth<T>(
  { config, exec }: { readonly config: Config; readonly exec: Exec },
  work: (health: ReturnType<typeof createHostChecks>) => Promise<T>,
): Promise<T> {
  const host = createHostFacts({ clock: systemClock });
  const systemd = createHostUnits({
    clock: systemClock,
    policy: createServicePolicy(config.settings.services),
    onStateChange: () => undefined,
  });
  const journal = createHostJournal({ dir: config.settings.journal?.dir, onUnreadable: () => undefined });
  try {
    const packages = await createHostPackages({ exec, clock: systemClock });
    const parts = { config, host, systemd, journal, packages, exec, certificatePaths: () => [], ownUnit: serviceUnit };
    return await work(createHostChecks(parts));
  } finally {
    journal.dispose();
    systemd.dispose();
    host.dispose();
  }
}
