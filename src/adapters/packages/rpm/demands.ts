import type { PackageChange, PackageVersion } from "#domain/ports/packages.ts";
import { UpdateRefused } from "#domain/ports/packages.ts";
import type { AdvisedRpm, RpmState } from "./advice.ts";
import { newestAdvised, newestOf } from "./advice.ts";
import { isPackageName, keyOf, nevraOf } from "./names.ts";

/** Changes before it is known which are for security. */
export type PlainChange = Omit<PackageChange, "isSecurity">;

/** @throws UpdateRefused for what is not installed, or held. */
export function demandNames<T extends PackageVersion>(names: readonly string[], state: RpmState<T>): void {
  for (const name of names) {
    const found = isPackageName(name) ? state.packages.filter((each) => each.name === name) : [];
    if (found.length === 0) throw new UpdateRefused(`${name} is not installed`);
    if (found.some(state.isHeld)) throw new UpdateRefused(`${name} is held at its version`);
  }
}

/** The versions that close holes in what may be changed. */
export function wantedAdvised<T extends PackageVersion>(
  advised: readonly AdvisedRpm[],
  state: RpmState<T>,
  names: readonly string[] | undefined,
): readonly AdvisedRpm[] {
  const newest = newestOf(state);
  return newestAdvised(advised).filter((each) => {
    const installed = newest.get(keyOf(each));
    return installed !== undefined && !state.isHeld(installed) && (names?.includes(each.name) ?? true);
  });
}

/** @throws UpdateRefused for what would come along although it closes no hole and is not new. */
export function demandSecurity(changes: readonly PlainChange[], advised: readonly AdvisedRpm[]): void {
  const exact = new Set(advised.map(nevraOf));
  const extra = changes.filter(
    ({ name, architecture, from, to }) =>
      to === null || (from !== null && !exact.has(nevraOf({ name, architecture, version: to }))),
  );
  if (extra.length === 0) return;
  const names = extra.map(({ name, to }) => (to === null ? `the removal of ${name}` : `${name} ${to}`));
  throw new UpdateRefused(`the security updates need more than themselves: ${names.join(", ")}`);
}

/** @throws UpdateRefused for a removal. */
export function demandNoRemoval(manager: string, changes: readonly PlainChange[]): void {
  const removed = changes.filter(({ to }) => to === null).map(({ name }) => name);
  if (removed.length > 0) throw new UpdateRefused(`${manager} would have to remove ${removed.join(", ")}`);
}
