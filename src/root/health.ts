import { createHostChecks } from "#app/checks.ts";
import { openHost } from "#app/host.ts";
import { untraced } from "#app/tracing/tracing.ts";
import type { Config } from "#config/load.ts";
import { serviceUnit } from "./places.ts";

export async function withRootHealth<T>(
  config: Config,
  work: (health: ReturnType<typeof createHostChecks>) => Promise<T>,
): Promise<T> {
  const { exec } = untraced;
  const host = openHost(config.settings, untraced);
  try {
    return await work(createHostChecks({ config, host, exec, certificatePaths: () => [], ownUnit: serviceUnit }));
  } finally {
    host.dispose();
  }
}
