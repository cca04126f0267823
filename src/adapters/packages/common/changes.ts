import {
  type InstalledPackage,
  type PackageChange,
  type PackageVersion,
  UpdateRefused,
} from "#domain/ports/packages.ts";

export function areSame(one: readonly PlainChange[], other: readonly PlainChange[]): boolean {
  const reported = (changes: readonly PlainChange[]): string =>
    changes
      .map(({ name, architecture, from, to }) => `${name}:${architecture} ${from} ${to}`)
      .sort()
      .join("\n");
  return reported(one) === reported(other);
}

export function describeChanges(changes: readonly PlainChange[], most = 5): string {
  const reported = changes.slice(0, most).map(({ name, to }) => (to === null ? `${name} removed` : `${name} ${to}`));
  const more = changes.length - reported.length;
  return [...reported, ...(more > 0 ? [`${more} more`] : [])].join(", ") || "nothing";
}

/** @throws UpdateRefused with what is new, where a plan is no longer what would be done. */
export function demandSame(now: readonly PlainChange[], planned: readonly PlainChange[]): void {
  if (areSame(now, planned)) return;
  const fresh = now.filter((change) => !planned.some((each) => areSame([change], [each])));
  const found = describeChanges(fresh.length > 0 ? fresh : now);
  throw new UpdateRefused(`what would be done has changed since it was planned (now ${found})`);
}

/** What is gone after a change. */
export const removalOf = ({ name, architecture, version }: PackageVersion) => ({
  name,
  architecture,
  from: version,
  to: null,
});

export type PlainChange = Omit<PackageChange, "isSecurity">;

export const toInstalledPackages = <T extends PackageVersion>(
  { packages, isHeld }: { readonly packages: readonly T[]; readonly isHeld: (found: T) => boolean },
  isManual: (found: T) => boolean,
): readonly InstalledPackage[] =>
  packages.map((each) => {
    const { name, architecture, version } = each;
    return { name, architecture, version, isManual: isManual(each), isHeld: isHeld(each) };
  });

export const heldIn = <T extends PackageVersion>(state: {
  readonly packages: readonly T[];
  readonly isHeld: (found: T) => boolean;
}): readonly { readonly name: string; readonly version: string }[] =>
  state.packages.filter(state.isHeld).map(({ name, version }) => ({ name, version }));

export const describeUnmet = ({ name, needs }: { readonly name: string; readonly needs: string }): string =>
  `${name} lacks what it needs (${needs})`;

/** @throws UpdateRefused for what is held, and for what is not installed, unless it is to be. */
export function demandNames<T extends PackageVersion>(
  names: readonly string[],
  { packages, isHeld }: { readonly packages: readonly T[]; readonly isHeld: (found: T) => boolean },
  isPackageName: (name: string) => boolean,
  isToBeInstalled = false,
): void {
  for (const name of names) {
    if (isToBeInstalled && !isPackageName(name)) throw new UpdateRefused(`${name} is not a package name`);
    const found = isPackageName(name) ? packages.filter((each) => each.name === name) : [];
    if (found.length === 0 && !isToBeInstalled) throw new UpdateRefused(`${name} is not installed`);
    if (found.some(isHeld)) throw new UpdateRefused(`${name} is held at its version`);
  }
}
