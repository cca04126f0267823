import type { Context, Handlers, Input, Plan } from "#contract/operation.ts";
import type { PackageHolds, packageHolds } from "#contract/package-holds.ts";
import { checked, DomainError, invalid } from "#domain/common/error.ts";
import { HostUnavailable } from "#domain/common/host-unavailable.ts";
import { createPlan } from "#domain/common/plan.ts";
import { type InstalledPackage, type PackageManager, qualifiedName } from "#domain/ports/packages.ts";
import { defined } from "#kernel/values.ts";
import { type FindHost, managedHost } from "./handlers.ts";
import { type PackageRights, requirePackageScopes } from "./package-changes.ts";
import { refusedAsInvalid } from "./refusals.ts";

interface Ports {
  readonly host: FindHost;
  readonly rights: PackageRights;
}

/** The installed packages that are named, each once; of a kernel there may be several versions. @throws DomainError for a name of none. */
function installedBy(names: readonly string[], installed: readonly InstalledPackage[], doing: string) {
  const named = (name: string): readonly InstalledPackage[] => {
    const found = installed.filter((each) => each.name === name || qualifiedName(each) === name);
    const issue = `${name} is not installed`;
    if (found.length === 0) throw invalid("packages", issue, `cannot ${doing}: ${issue}`);
    return found;
  };
  const chosen = checked(...names.map((name) => () => named(name))).flat();
  return [...new Map(chosen.map((each) => [`${qualifiedName(each)} ${each.version}`, each])).values()];
}

interface Wanted {
  readonly isHeld: boolean;
  readonly packages: readonly InstalledPackage[];
}

/** Names for people: with the architecture where a package is there in several. */
const namesOf = (some: readonly InstalledPackage[], { packages }: Wanted): string =>
  some
    .map((each) => (packages.filter(({ name }) => name === each.name).length > 1 ? qualifiedName(each) : each.name))
    .join(", ");

const dueOf = ({ isHeld, packages }: Wanted): readonly InstalledPackage[] =>
  packages.filter((each) => each.isHeld !== isHeld);

function alreadySo(wanted: Wanted): readonly string[] {
  const found = wanted.packages.filter((each) => each.isHeld === wanted.isHeld);
  return found.length === 0 ? [] : [`${wanted.isHeld ? "held already" : "not held"}: ${namesOf(found, wanted)}`];
}

function planOf(wanted: Wanted): Plan {
  const due = dueOf(wanted);
  const step = (each: InstalledPackage): string =>
    wanted.isHeld ? `hold ${namesOf([each], wanted)} at ${each.version}` : `unhold ${namesOf([each], wanted)}`;
  const [reason] = alreadySo(wanted);
  return createPlan(due.map(step), { packages: due.map(({ name }) => name), ...defined({ reason }) });
}

/** @param now the same packages afterwards. */
function resultOf(wanted: Wanted, now: readonly InstalledPackage[]): PackageHolds {
  const due = dueOf(wanted);
  const done = due.length === 0 ? [] : [`${wanted.isHeld ? "held" : "no longer held"}: ${namesOf(due, wanted)}`];
  return {
    success: true,
    message: [...done, ...alreadySo(wanted)].join("; "),
    packages: now.map(({ name, architecture, version, isHeld }, at) => ({
      name,
      architecture,
      version,
      held: isHeld,
      changed: wanted.packages[at]?.isHeld !== isHeld,
    })),
  };
}

/** @throws HostUnavailable where packages cannot be held here. */
async function demandSupport(manager: PackageManager, isHeld: boolean): Promise<void> {
  const { name, commands, holds } = manager;
  const lack = await holds.lack();
  if (lack === undefined) return;
  const remedy = isHeld ? `${commands.hold} does that` : `${commands.unhold} ends that`;
  throw new HostUnavailable(`with ${name} packages are neither held nor released here: ${lack} (${remedy})`, {
    missing: "holds of packages",
    retryable: false,
  });
}

/** Carries it out, and looks whether it came to be so. */
async function setHolds(
  manager: PackageManager,
  { wanted, doing }: { readonly wanted: Wanted; readonly doing: string },
  signal: AbortSignal,
): Promise<readonly InstalledPackage[]> {
  const { isHeld } = wanted;
  const due = dueOf(wanted);
  if (due.length > 0) {
    const { isDone, reason } = await refusedAsInvalid(
      () => manager.holds.set({ isHeld, packages: due }, signal),
      doing,
    );
    if (!isDone) throw new DomainError("INTERNAL_ERROR", `cannot ${doing}: ${reason}`);
  }
  const after = await manager.installed(signal);
  const now = wanted.packages.map((was) => {
    const found = after.filter((each) => qualifiedName(each) === qualifiedName(was));
    return found.find(({ version }) => version === was.version) ?? found[0] ?? was;
  });
  const left = now.filter((each) => each.isHeld !== isHeld);
  if (left.length === 0) return now;
  const state = isHeld ? "not held" : "held still";
  const message = `cannot ${doing}: ${manager.name} says afterwards that they are ${state}: ${namesOf(left, wanted)}`;
  throw new DomainError("INTERNAL_ERROR", message);
}

/** Keeps packages at their version, and lets them be updated again. */
export function packageHoldHandlers({ host, rights }: Ports): Handlers<typeof packageHolds> {
  const setBy =
    (isHeld: boolean) =>
    async (
      { query, body: { packages: names } }: Input<typeof packageHolds.holdPackages>,
      context: Context,
    ): Promise<PackageHolds | Plan> => {
      requirePackageScopes(rights, context, { scope: "packages:hold", names });
      const doing = `${isHeld ? "hold" : "unhold"} ${names.join(", ")}`;
      const { manager } = await managedHost(host);
      await demandSupport(manager, isHeld);
      const signal = context.signal();
      const wanted = { isHeld, packages: installedBy(names, await manager.installed(signal), doing) };
      if (query.dry_run ?? false) return planOf(wanted);
      context.touched({ packages: wanted.packages.map(qualifiedName).join(" ") });
      return resultOf(wanted, await setHolds(manager, { wanted, doing }, signal));
    };
  return { holdPackages: setBy(true), unholdPackages: setBy(false) };
}
