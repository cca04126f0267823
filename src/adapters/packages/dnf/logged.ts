import { readFile } from "node:fs/promises";
import { parseUsers } from "#adapters/files/etc.ts";
import type { LoggedPackage } from "#domain/ports/package-catalog.ts";
import type { PackageVersion } from "#domain/ports/packages.ts";
import { orUndefined } from "#kernel/errors.ts";
import { nameAndArchitecture } from "../common/rpm/names.ts";

/** A line of what dnf remembers of a transaction. */
export interface LoggedItem extends PackageVersion {
  /** `replaced` is a version that another one took the place of; `other` is not a change of packages. */
  readonly action: "install" | "upgrade" | "downgrade" | "reinstall" | "remove" | "replaced" | "other";
  readonly isAutomatic: boolean;
}

/** What became of each package: of one that was replaced by itself that is reported with what took its place. */
export function packagesOf(items: readonly LoggedItem[]): readonly LoggedPackage[] {
  const replaced = new Map<string, LoggedItem>();
  for (const each of items) if (each.action === "replaced") replaced.set(nameAndArchitecture(each), each);
  const byName = new Map([...replaced.values()].map((each) => [each.name, each]));

  const packages = items.flatMap((each): readonly LoggedPackage[] => {
    const { name, architecture, version, action, isAutomatic } = each;
    if (action === "replaced" || action === "other") return [];
    if (action === "remove") return [{ name, architecture, action, from: version, to: undefined, isAutomatic }];
    if (action === "install") return [{ name, architecture, action, from: undefined, to: version, isAutomatic }];
    const before = replaced.get(nameAndArchitecture(each)) ?? byName.get(name);
    if (before !== undefined) replaced.delete(nameAndArchitecture(before));
    return [{ name, architecture, action, from: before?.version, to: version, isAutomatic: false }];
  });

  // What went for a package of another name.
  const gone = [...replaced.values()].map(({ name, architecture, version }): LoggedPackage => {
    return { name, architecture, action: "remove", from: version, to: undefined, isAutomatic: true };
  });
  return [...packages, ...gone];
}

/** What stands for no user: a process that nobody logged in for. */
const noUser = 0xff_ff_ff_ff;

/** Who is behind a transaction by the number that dnf remembers; undefined for root. */
export async function createRequesters(passwd: string): Promise<(uid: unknown) => string | undefined> {
  const users = parseUsers((await orUndefined(readFile(passwd, "utf8"))) ?? "");
  return (uid) => {
    if (typeof uid !== "number" || !Number.isSafeInteger(uid) || uid <= 0 || uid === noUser) return undefined;
    const name = users.get(uid);
    return name === undefined ? String(uid) : `${name} (${uid})`;
  };
}

export const millisecondsOf = (seconds: unknown): number | undefined =>
  typeof seconds === "number" && Number.isSafeInteger(seconds) && seconds > 0 && seconds < 1e11
    ? seconds * 1000
    : undefined;
