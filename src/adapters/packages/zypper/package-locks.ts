import type { Zypper } from "./host.ts";

/** Locks packages by their names, or takes away just these locks. */
export async function setLocks(
  { transact, places }: Pick<Zypper, "transact" | "places">,
  { names, isHeld }: { readonly names: readonly string[]; readonly isHeld: boolean },
  signal: AbortSignal,
): Promise<void> {
  const verb = isHeld ? "addlock" : "removelock";
  const description = `Steward ${isHeld ? "holds" : "releases"} packages (zypper ${verb})`;
  const argv = [...places.zypper, "--non-interactive", "--xmlout", verb, "--type", "package", "--", ...names] as const;
  await transact({ unit: `steward-zypper-${verb}`, description, argv, locks: [places.lock] }, signal);
}
