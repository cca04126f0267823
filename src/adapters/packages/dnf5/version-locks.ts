import { type Dnf5, withoutRepositories } from "./host.ts";
import { changingArgv } from "./replay.ts";

/** Locks packages at their installed versions, or takes away their locks. No list is needed for that. */
export async function setVersionLocks(
  dnf5: Dnf5,
  { names, isHeld }: { readonly names: readonly string[]; readonly isHeld: boolean },
  signal: AbortSignal,
): Promise<void> {
  const verb = isHeld ? "add" : "delete";
  const description = `Steward ${isHeld ? "holds" : "releases"} packages (dnf5 versionlock ${verb})`;
  const argv = changingArgv(dnf5, "--cacheonly", withoutRepositories, "versionlock", verb, ...names);
  await dnf5.transact(
    { unit: `steward-dnf-versionlock-${verb}`, description, argv, locks: [dnf5.places.transactionLock] },
    signal,
  );
}
