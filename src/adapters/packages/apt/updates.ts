import type { PackageUpdates } from "#domain/health/packages/ports.ts";
import { listsAt } from "./lists-age.ts";
import type { Offer } from "./offers.ts";
import type { AptPaths } from "./paths.ts";

/** The updates of the host as its checks ask for them. */
export function createUpdates(ports: {
  readonly offers: (signal: AbortSignal) => Promise<readonly Offer[]>;
  readonly paths: AptPaths;
}): PackageUpdates {
  const { offers, paths } = ports;
  return {
    async security(signal) {
      const pending = (await offers(signal)).filter(({ suites }) => suites.length > 0);
      return pending.map(({ entry: { name, architecture, version, want }, candidate, suites }) => {
        return { name, architecture, installed: version, candidate, suites, isHeld: want === "hold" };
      });
    },

    refreshedAt: () => listsAt(paths),
  };
}
