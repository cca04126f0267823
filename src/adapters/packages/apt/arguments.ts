import { type PackageChange, UpdateRefused } from "#domain/ports/packages.ts";

export const aptPaths = {
  status: "/var/lib/dpkg/status",
  updates: "/var/lib/dpkg/updates",
  frontendLock: "/var/lib/dpkg/lock-frontend",
  databaseLock: "/var/lib/dpkg/lock",
  lists: "/var/lib/apt/lists",
  /**
   * Touched after a refresh of this service that reached all sources. Not one of apt's own stamps: `update-stamp` is touched after
   * failures too, and so is `update-success-stamp` by hooks of distributions and of configuration management.
   */
  refreshStamp: "/var/lib/apt/periodic/steward-refresh-stamp",
  settings: [
    "/etc/apt/sources.list",
    "/etc/apt/sources.list.d",
    "/etc/apt/preferences",
    "/etc/apt/preferences.d",
    "/etc/apt/apt.conf",
    "/etc/apt/apt.conf.d",
  ],
} as const;

export type AptPaths = {
  readonly [name in keyof typeof aptPaths]: name extends "settings" ? readonly string[] : string;
};

/** Apt trusts its caches when size and second of the status file match, and then acts on outdated data. */
export const withoutCaches = ["--option=Dir::Cache::pkgcache=", "--option=Dir::Cache::srcpkgcache="] as const;

/** Options with which apt takes no lock and writes neither caches nor logs: a question changes nothing on disk. */
export const onlyAsking = ["--option=Debug::NoLocking=1", ...withoutCaches, "--option=Dir::Log::Planner="] as const;

/** Options with which apt installs nothing that nobody vouches for, whatever the settings of the host allow. */
export const onlyTrusted = [
  "--option=APT::Get::AllowUnauthenticated=false",
  "--option=APT::Get::Force-Yes=false",
] as const;

export const withoutSources = [
  "--option=Dir::Etc::sourcelist=/dev/null",
  "--option=Dir::Etc::sourceparts=/dev/null",
] as const;

/** The names of Debian's policy; anything else is not a name, and is not passed on. */
export const isPackageName = (name: string): boolean => /^[a-z0-9][a-z0-9+.-]*(:[a-z0-9-]+)?$/.test(name);

export const isVersion = (version: string): boolean => /^[A-Za-z0-9][A-Za-z0-9.+:~-]*$/.test(version);

export const keepSettings = ["--force-confdef", "--force-confold"] as const;

/** Nothing is removed beyond the plan, and settings of the host do not widen it. */
const commonArguments = [
  "--quiet",
  "--assume-yes",
  ...withoutCaches,
  "--no-auto-remove",
  "--option=APT::Get::Purge=false",
  "--option=APT::Get::Fix-Missing=false",
  ...onlyTrusted,
  "--option=APT::Get::Show-Upgraded=true",
  ...keepSettings.map((option) => `--option=Dpkg::Options::=${option}`),
] as const;

export interface AptArguments {
  readonly options: readonly string[];
  readonly verb: "install" | "upgrade" | "dist-upgrade" | "autoremove" | "remove" | "purge";
  readonly operands: readonly string[];
}

export const toArguments = ({ options, verb, operands }: AptArguments): readonly string[] => [
  ...commonArguments,
  ...options,
  verb,
  ...(operands.length > 0 ? ["--", ...operands] : []),
];

export const packageArgument = ({ name, architecture }: PackageChange): string =>
  architecture === "all" ? name : `${name}:${architecture}`;

function operandOf(change: PackageChange): string {
  const word = packageArgument(change);
  if (!isPackageName(word)) throw new UpdateRefused(`${word} is not a package name`);
  if (change.to === null) return `${word}-`;
  if (!isVersion(change.to)) throw new UpdateRefused(`${change.to} is not a version of ${word}`);
  return `${word}=${change.to}`;
}

export const argumentsFor = (changes: readonly PackageChange[], isPurge = false): AptArguments => ({
  options: [
    "--no-install-recommends",
    ...(changes.some(({ to }) => to === null) ? [] : ["--no-remove"]),
    ...(isPurge ? ["--purge"] : []),
  ],
  verb: "install",
  operands: changes.map(operandOf),
});
