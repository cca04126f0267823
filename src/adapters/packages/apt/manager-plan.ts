import type { PackageChange } from "#domain/ports/packages.ts";
import { type DpkgEntry, nativeArchitecture } from "./database.ts";
import type { Offer } from "./offers.ts";
import type { SimulatedStep } from "./simulation.ts";

const isSecurityRelease = ({ label, suite }: SimulatedStep["releases"][number]): boolean =>
  label === "Debian-Security" || suite.endsWith("-security");

const keyOf = ({ name, architecture }: Pick<PackageChange, "name" | "architecture">): string =>
  `${name}:${architecture}`;

function byName(one: PackageChange, other: PackageChange): number {
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  return one.architecture < other.architecture ? -1 : 1;
}

export function changesOf(
  steps: readonly SimulatedStep[],
  known: { readonly entries: readonly DpkgEntry[]; readonly offers: readonly Offer[] },
): readonly PackageChange[] {
  const native = nativeArchitecture(known.entries);
  const offers = new Map(known.offers.map((offer) => [keyOf(offer.entry), offer]));

  /** Of what is removed apt tells an architecture only where it is not the machine's own. */
  const removedArchitecture = (name: string, told: string | undefined): string =>
    known.entries.find(
      (entry) =>
        entry.name === name &&
        (told === undefined ? [native, "all"].includes(entry.architecture) : entry.architecture === told),
    )?.architecture ?? native;

  const changes = new Map<string, PackageChange>();
  for (const { kind, name: word, from, to, architecture: newArchitecture, releases } of steps) {
    if (kind === "configure") continue;
    const [name = "", told] = word.split(":");
    const architecture = kind === "remove" ? removedArchitecture(name, told) : newArchitecture;
    const key = keyOf({ name, architecture });
    const suites = offers.get(key)?.suites ?? [];
    const isSecurity = kind === "install" && (suites.length > 0 || releases.some(isSecurityRelease));
    // Apt may name a package twice: removed on the way to its new version.
    changes.set(key, { name, architecture, from: from ?? changes.get(key)?.from ?? null, to, isSecurity });
  }
  return [...changes.values()].sort(byName);
}
