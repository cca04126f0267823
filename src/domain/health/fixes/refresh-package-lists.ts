import { noProgress, type PackageManager } from "#domain/ports/packages.ts";
import { commandsOf, demandManager, type Fix, remarked } from "../fix.ts";

export function refreshPackageListsFix(ports: {
  readonly packages: Pick<PackageManager, "commands" | "lists"> | undefined;
}): Fix {
  const { packages } = ports;
  const { refreshLists } = commandsOf(packages);
  const step = {
    action: remarked("download the package lists", refreshLists),
    async run(signal: AbortSignal) {
      const manager = demandManager(packages);
      await manager.lists.refresh(noProgress, signal);
      if ((await manager.lists.refreshedAt()) === undefined)
        throw new Error("there was nothing to download: the host has no package sources");
      return "The package lists are as the sources have them";
    },
  };
  return {
    id: "refresh_package_lists",
    summary: remarked("Downloads the package lists", refreshLists),
    risk: "safe",
    alsoNeeds: ["updates:read"],
    kind: "packages",
    endsOnFailure: true,
    timeoutMs: 35 * 60_000,
    plan: () => Promise.resolve({ steps: [step] }),
  };
}
