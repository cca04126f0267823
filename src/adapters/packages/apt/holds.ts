import { type PackageManager, type PresentPackage, UpdateRefused } from "#domain/ports/packages.ts";
import { asResult, type Transact } from "../common/transactions.ts";
import { qualifiedName } from "./database.ts";
import { type AptPaths, isPackageName, withoutCaches, withoutSources } from "./words.ts";

/** dpkg keeps holds in its own database, so its locks are waited for. */
export function createHolds(ports: {
  readonly transact: Transact;
  readonly paths: AptPaths;
  readonly present: () => Promise<readonly PresentPackage[]>;
}): NonNullable<PackageManager["setHolds"]> {
  const { transact, paths, present } = ports;
  return async ({ isHeld, packages }, signal) => {
    const installed = (await present()).filter(({ state }) => state !== "configuration").map(qualifiedName);
    const words = packages.map(qualifiedName);
    for (const word of words)
      if (!isPackageName(word) || !installed.includes(word)) throw new UpdateRefused(`${word} is not installed`);
    if (words.length === 0) return { isDone: true, reason: "" };
    const verb = isHeld ? "hold" : "unhold";
    const description = `Steward ${isHeld ? "holds" : "releases"} packages (apt-mark ${verb})`;
    const argv = ["/usr/bin/apt-mark", ...withoutCaches, ...withoutSources, verb, "--", ...words] as const;
    const locks = [paths.frontendLock, paths.databaseLock];
    return asResult(() => transact({ unit: `steward-apt-${verb}`, description, argv, locks }, signal));
  };
}
