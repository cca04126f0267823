import type { PackageFaults, PackageVersion } from "#domain/ports/packages.ts";
import { removalOf } from "../changes.ts";
import type { FoundFaults } from "../manager.ts";
import { nevraOf } from "./names.ts";
import type { RpmState } from "./offers.ts";

/** What an interrupted transaction has left, and what does not fit together. */
export interface Findings {
  readonly unmet: PackageFaults["unmet"];
  /** Versions beside another one, of packages of which only one can be installed. */
  readonly duplicates: readonly { readonly old: PackageVersion; readonly kept: PackageVersion }[];
  readonly isInterrupted: boolean;
  /** What the interrupted transaction was to install, what of that is missing, and what it was to remove and is there. */
  readonly brought: readonly PackageVersion[];
  readonly missing: readonly PackageVersion[];
  readonly remaining: readonly PackageVersion[];
}

/** @param unfinished what the last transaction was to do, if it was started and has no end. */
export function toFindings(
  found: Pick<Findings, "unmet" | "duplicates">,
  unfinished: { readonly brought: readonly PackageVersion[]; readonly removed: readonly PackageVersion[] } | undefined,
  { packages }: Pick<RpmState, "packages">,
): Findings {
  const { brought, removed } = unfinished ?? { brought: [], removed: [] };
  const present = new Set(packages.map(nevraOf));
  const missing = brought.filter((each) => !present.has(nevraOf(each)));
  const remaining = removed.filter((each) => present.has(nevraOf(each)));
  const isLeft = found.duplicates.length + missing.length + remaining.length > 0;
  return { ...found, isInterrupted: unfinished !== undefined && isLeft, brought, missing, remaining };
}

/** The version that an interrupted transaction was to remove, which may be the newer one. */
export const leftovers = ({ duplicates, brought }: Pick<Findings, "duplicates" | "brought">) =>
  duplicates.map(({ old, kept }) => {
    const isOldBrought = brought.some((each) => nevraOf(each) === nevraOf(old));
    return removalOf(isOldBrought ? kept : old);
  });

const unfinished = (state: string, { name, version }: PackageVersion) => {
  return { name, version, state, mustBeReinstalled: false };
};

/** In the words of every manager. */
export const faultsIn = (found: Findings): FoundFaults => ({
  unfinished: [
    ...found.duplicates.map(({ old, kept }) => unfinished(`left beside ${kept.version}`, old)),
    ...found.missing.map((each) => unfinished("not installed yet", each)),
    ...found.remaining.map((each) => unfinished("not removed yet", each)),
  ],
  isInterrupted: found.isInterrupted,
  unmet: found.unmet,
  halfDone: [
    ...leftovers(found).map(({ name, from }) => `${name} ${from} is left beside another version of it`),
    ...found.missing.map((each) => `${nevraOf(each)} was to be installed and is not`),
    ...found.remaining.map((each) => `${nevraOf(each)} was to be removed and is there`),
  ],
});
