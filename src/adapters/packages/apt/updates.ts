import { readdir, stat } from "node:fs/promises";
import type { PackageUpdates } from "#domain/health/ports.ts";
import { isMissing, orUndefined } from "../files.ts";
import type { Offer } from "./offers.ts";
import type { AptPaths } from "./paths.ts";

const isList = (name: string): boolean => !["lock", "partial", "auxfiles"].includes(name);

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

    async refreshedAt() {
      const names = (await orUndefined(readdir(paths.lists), isMissing)) ?? [];
      if (!names.some(isList)) return undefined;
      // A refresh that finds nothing new changes no list; then only the stamp tells of it. The times of the lists are the servers'.
      const stamps = [paths.lists, paths.refreshStamp];
      const times = await Promise.all(stamps.map((path) => orUndefined(stat(path), isMissing)));
      return Math.max(...times.map((file) => file?.mtimeMs ?? 0));
    },
  };
}
