import { existsSync } from "node:fs";
import { readTextOrEmpty } from "#adapters/files/index.ts";
import type { PackageVersion } from "#domain/ports/packages.ts";
import { createPattern, formsOf } from "../common/rpm/names.ts";
import { type Dnf, withoutRepositories } from "./host.ts";
import { parseVersionLocks } from "./lists.ts";
import { changingArgv } from "./replay.ts";

/** Why packages cannot be locked. */
export const lackOfVersionLock = ({ places }: Pick<Dnf, "places">): string | undefined =>
  existsSync(places.versionLockSettings)
    ? undefined
    : "dnf has no plugin for that (the package python3-dnf-plugin-versionlock brings it)";

/** By a name dnf would also delete what excludes versions of the package. Patterns for several packages are left. */
export function locksOf(text: string, packages: readonly PackageVersion[]): readonly string[] {
  const forms = packages.flatMap(formsOf);
  return parseVersionLocks(text).filter(
    (entry) => !/[*?[]/.test(entry.replace(/\.\*$/, "")) && forms.some(createPattern(entry)),
  );
}

/** Locks packages at their installed versions, or takes away their locks. No list is needed for that. */
export async function setVersionLocks(
  dnf: Dnf,
  { names, isHeld }: { readonly names: readonly string[]; readonly isHeld: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { places, database, transact } = dnf;
  const { packages } = await database(signal);
  const words = isHeld
    ? names
    : locksOf(
        await readTextOrEmpty(places.versionLocks),
        packages.filter(({ name }) => names.includes(name)),
      );
  if (words.length === 0) return;
  const verb = isHeld ? "add" : "delete";
  const description = `Steward ${isHeld ? "holds" : "releases"} packages (dnf versionlock ${verb})`;
  const argv = changingArgv(dnf, "--cacheonly", withoutRepositories, "versionlock", verb, ...words);
  await transact(
    { unit: `steward-dnf-versionlock-${verb}`, description, argv, locks: [places.transactionLock] },
    signal,
  );
}
