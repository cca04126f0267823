import type { ChangedPackage } from "#contract/updates.ts";
import {
  type InstalledPackage,
  type PackageChange,
  type PackageManager,
  qualifiedName,
  type TransactionPlan,
} from "#domain/ports/packages.ts";

/** All versions of a package: several kernels may be installed. */
function allVersionsOf(installed: readonly InstalledPackage[]): (change: PackageChange) => readonly string[] {
  const versions = Map.groupBy(installed, qualifiedName);
  return (change) => (versions.get(qualifiedName(change)) ?? []).map(({ version }) => version);
}

type Named = Pick<InstalledPackage, "name" | "architecture">;

/** The packages that a plan is compared with. */
export interface PackagesNow {
  readonly installed: readonly InstalledPackage[];
  /** Removed, but for their configuration. */
  readonly configurationOnly: readonly Named[];
}

/** Asks what a plan is compared with afterwards. */
export async function packagesNow(
  { isPurge }: TransactionPlan,
  manager: Pick<PackageManager, "installed" | "files">,
  signal: AbortSignal,
): Promise<PackagesNow> {
  const installed = await manager.installed(signal);
  const present = isPurge ? await manager.files.present(signal) : [];
  return { installed, configurationOnly: present.filter(({ state }) => state === "configuration") };
}

/** The changes of a plan that are in effect, no matter who made them. */
export function doneOf(plan: TransactionPlan, { installed, configurationOnly }: PackagesNow): readonly PackageChange[] {
  const anyVersions = allVersionsOf(installed);
  const versions = allVersionsOf(installed.filter(({ isUnfinished = false }) => !isUnfinished));
  const kept = new Set(plan.isPurge ? configurationOnly.map(qualifiedName) : []);
  return plan.changes.filter((change) => {
    const { from, to } = change;
    if (to !== null) return versions(change).includes(to);
    // What was interrupted while it was removed is there still.
    return !kept.has(qualifiedName(change)) && (from === null || !anyVersions(change).includes(from));
  });
}

export function changedOf(
  plan: TransactionPlan,
  { installed, configurationOnly }: PackagesNow,
): readonly ChangedPackage[] {
  const versions = allVersionsOf(installed);
  const kept = new Set(configurationOnly.map(qualifiedName));
  const becomeOf = (change: PackageChange): string | null => {
    const { from, to } = change;
    const now = versions(change);
    if (change.isLeftover && kept.has(qualifiedName(change))) return from;
    if (to !== null && now.includes(to)) return to;
    // It was to be installed beside other versions, and is not.
    return from === null || now.includes(from) ? from : (now.at(-1) ?? null);
  };
  return plan.changes
    .map((change) => ({ name: change.name, from: change.from, to: becomeOf(change) }))
    .filter(({ from, to }) => from !== to);
}
