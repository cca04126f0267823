import type { ChangedPackage } from "#contract/updates.ts";
import type { InstalledPackage, PackageChange, TransactionPlan } from "#domain/ports/packages.ts";

/** Packages of several architectures may have one name. */
const packageKey = ({ name, architecture }: Pick<InstalledPackage, "name" | "architecture">): string =>
  `${name}:${architecture}`;

/** All versions of a package: several kernels may be installed. */
function allVersionsOf(installed: readonly InstalledPackage[]): (change: PackageChange) => readonly string[] {
  const versions = Map.groupBy(installed, packageKey);
  return (change) => (versions.get(packageKey(change)) ?? []).map(({ version }) => version);
}

/** The changes of a plan that are in effect, whoever made them. */
export function doneOf(plan: TransactionPlan, installed: readonly InstalledPackage[]): readonly PackageChange[] {
  const versions = allVersionsOf(installed.filter(({ isUnfinished = false }) => !isUnfinished));
  return plan.changes.filter((change) => {
    const { from, to } = change;
    const now = versions(change);
    return to === null ? from === null || !now.includes(from) : now.includes(to);
  });
}

export function changedOf(plan: TransactionPlan, installed: readonly InstalledPackage[]): readonly ChangedPackage[] {
  const versions = allVersionsOf(installed);
  const becomeOf = (change: PackageChange): string | null => {
    const { from, to } = change;
    const now = versions(change);
    if (to !== null && now.includes(to)) return to;
    // It was to be installed beside other versions, and is not.
    return from === null || now.includes(from) ? from : (now.at(-1) ?? null);
  };
  return plan.changes
    .map((change) => ({ name: change.name, from: change.from, to: becomeOf(change) }))
    .filter(({ from, to }) => from !== to);
}
