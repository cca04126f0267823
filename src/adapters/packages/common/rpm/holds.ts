import {
  type HoldRequest,
  type Holds,
  type InstalledPackage,
  type ManagerCommands,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import type { Asks } from "../ports.ts";
import { asResult } from "../transactions.ts";
import { isPackageName } from "./names.ts";

/**
 * The names of packages that are to be held, or no longer: rpm's managers hold by name, in all architectures.
 * @throws UpdateRefused for what is not installed, and where another architecture would be held or released as well.
 */
export function holdNames(
  { isHeld, packages }: HoldRequest,
  installed: readonly InstalledPackage[],
): readonly string[] {
  const isMeant = (each: InstalledPackage): boolean =>
    packages.some(({ name, architecture }) => each.name === name && each.architecture === architecture);
  const meant = installed.filter(isMeant);
  for (const { name, architecture } of packages)
    if (!isPackageName(name) || !meant.some((each) => each.name === name && each.architecture === architecture))
      throw new UpdateRefused(`${name} is not installed`);
  const names = [...new Set(packages.map(({ name }) => name))];
  const other = installed.find((each) => names.includes(each.name) && each.isHeld !== isHeld && !isMeant(each));
  if (other !== undefined)
    throw new UpdateRefused(
      `${other.name} is there for ${other.architecture} too, and held by its name alone: name it without an architecture`,
    );
  return names;
}

/** @param ports.set holds packages by their names, or takes back just that. */
export function createRpmHolds(ports: {
  readonly installed: Asks<readonly InstalledPackage[]>;
  readonly commands: Pick<ManagerCommands, "hold" | "unhold">;
  readonly set: (names: readonly string[], isHeld: boolean, signal: AbortSignal) => Promise<unknown>;
}): Holds["set"] {
  const { installed, commands, set } = ports;
  return async (request, signal) => {
    const { isHeld } = request;
    const names = holdNames(request, await installed(signal));
    if (names.length === 0) return { isDone: true, reason: "" };
    const { isDone, reason } = await asResult(() => set(names, isHeld, signal));
    if (!isDone) return { isDone, reason };
    // A pattern, or a list of exclusions, is not taken away for one of its packages; a lock of another version stays.
    const left = (await installed(signal)).filter((each) => names.includes(each.name) && each.isHeld !== isHeld);
    const leftNames = [...new Set(left.map(({ name }) => name))].join(", ");
    if (leftNames === "") return { isDone: true, reason: "" };
    throw new UpdateRefused(
      isHeld
        ? `${leftNames} cannot be held beside a lock that is there for another version (${commands.unhold} ends that)`
        : `${leftNames} is held by more than a lock of its name, such as a pattern (${commands.unhold} ends that)`,
    );
  };
}
