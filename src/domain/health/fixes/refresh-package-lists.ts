import type { Fix } from "../fix.ts";
import type { PackageRepairs, PackageUpdates } from "../ports.ts";

/** Downloads the package lists. Nothing is installed. */
export function refreshPackageListsFix(ports: {
  readonly repairs: Pick<PackageRepairs, "refreshLists">;
  readonly updates: Pick<PackageUpdates, "refreshedAt">;
}): Fix {
  const { repairs, updates } = ports;
  const step = {
    action: "download the package lists (apt-get update)",
    async run(signal: AbortSignal) {
      await repairs.refreshLists(signal);
      if ((await updates.refreshedAt()) === undefined)
        throw new Error("there was nothing to download: the host has no package sources");
      return "The package lists are as the sources have them";
    },
  };
  return {
    id: "refresh_package_lists",
    summary: "Downloads the package lists (apt-get update)",
    risk: "safe",
    kind: "packages",
    endsOnFailure: true,
    timeoutMs: 35 * 60_000,
    plan: () => Promise.resolve({ steps: [step] }),
  };
}
