import { checkMeanings } from "./check-meanings.generated.ts";

/** What a check says when it warns or fails, for anyone who is woken by it. */
interface CheckMeaning {
  /** What a warning or a failure means, in one sentence. */
  readonly meaning: string;
  /** What to do about it. */
  readonly remedy: string;
}

export const packageManagers = ["apt", "dnf", "zypper", "pacman"] as const;
export type PackageManagerName = (typeof packageManagers)[number];

/** The id of the check of a package manager. */
export const statusCheckId = (manager: PackageManagerName): string => `${manager}_status`;

const statusCheckIds = packageManagers.map(statusCheckId);

/** Ids of the checks that come with the service, on whichever host. No check has the id `package_status`; it is reserved. */
export const builtInCheckIds: readonly string[] = [...Object.keys(checkMeanings), ...statusCheckIds];

/** What a check means; undefined for one of a plugin. @param id as in an answer, such as `apt_status`. */
export function meaningOfCheck(id: string): CheckMeaning | undefined {
  const known: Readonly<Record<string, CheckMeaning>> = checkMeanings;
  if (Object.hasOwn(known, id)) return known[id];
  return statusCheckIds.includes(id) ? checkMeanings.package_status : undefined;
}
