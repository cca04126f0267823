import type { PackageChange, PackageVersion, SecurityUpdate } from "#domain/ports/packages.ts";
import { keyOf } from "./names.ts";
import { comparePackageVersions } from "./version.ts";

/** A package in which an advisory closes a security hole. */
export interface AdvisedRpm extends PackageVersion {
  /** `FEDORA-2026-0123456789`, `openSUSE-2026-123`. */
  readonly advisory: string;
}

/** What is installed, and what of it is kept at its version. */
export interface RpmState<T extends PackageVersion = PackageVersion> {
  /** The newest of several versions of one package comes last. */
  readonly packages: readonly T[];
  readonly isHeld: (found: T) => boolean;
}

/** By name, and versions of one name from the oldest to the newest. */
export const byName = (one: PackageVersion, other: PackageVersion): number =>
  one.name === other.name ? comparePackageVersions(one.version, other.version) : one.name < other.name ? -1 : 1;

/** What is installed of each package, the newest of it. */
export const newestOf = <T extends PackageVersion>({
  packages,
}: Pick<RpmState<T>, "packages">): ReadonlyMap<string, T> => new Map(packages.map((each) => [keyOf(each), each]));

/** Whether going to a version closes a hole: an advisory is for it or for one on the way. */
export const isSecurityStep = (to: PackageVersion, advised: readonly PackageVersion[], from: string | null): boolean =>
  advised.some(
    (each) =>
      keyOf(each) === keyOf(to) &&
      comparePackageVersions(each.version, to.version) <= 0 &&
      (from === null || comparePackageVersions(each.version, from) > 0),
  );

/** The newest of the versions that close a hole, for each package. */
export function newestAdvised(advised: readonly AdvisedRpm[]): readonly AdvisedRpm[] {
  const found = new Map<string, AdvisedRpm>();
  for (const each of advised) {
    const other = found.get(keyOf(each));
    if (other === undefined || comparePackageVersions(each.version, other.version) > 0) found.set(keyOf(each), each);
  }
  return [...found.values()];
}

/** What the check of security updates tells: each package once, with the advisories that are for it. */
export function securityUpdates<T extends PackageVersion>(
  advised: readonly AdvisedRpm[],
  updates: readonly PackageChange[],
  state: RpmState<T>,
): readonly SecurityUpdate[] {
  const newest = newestOf(state);
  return newestAdvised(advised).flatMap((each) => {
    const installed = newest.get(keyOf(each));
    if (installed === undefined) return [];
    const { name, architecture } = each;
    const candidate = updates.find((update) => keyOf(update) === keyOf(each))?.to ?? each.version;
    const suites = [...new Set(advised.filter((other) => keyOf(other) === keyOf(each)).map((one) => one.advisory))];
    return [{ name, architecture, installed: installed.version, candidate, suites, isHeld: state.isHeld(installed) }];
  });
}
