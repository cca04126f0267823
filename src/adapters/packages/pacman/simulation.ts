import type { PackageChange, TransactionPlan } from "#domain/ports/packages.ts";
import { comparePackageVersions } from "../rpm/version.ts";
import type { InstalledRecord } from "./records.ts";

/** How each package is printed that would be installed. */
export const printFormat = "%r\t%n\t%v\t%s";

/** A package that would be installed. */
export interface PrintedRow {
  readonly repository: string;
  readonly name: string;
  readonly version: string;
  /** What has to come over the network. */
  readonly downloadBytes: number;
}

/** What `pacman --print` prints in that format. */
export const parsePrinted = (text: string): readonly PrintedRow[] =>
  text.split("\n").flatMap((line) => {
    const [, repository, name, version, bytes] = /^([^\t]+)\t([^\t]+)\t([^\t]+)\t(\d+)$/.exec(line) ?? [];
    if (repository === undefined || name === undefined || version === undefined) return [];
    return [{ repository, name, version, downloadBytes: Number(bytes) }];
  });

/** What a list says of a package. */
export interface OfferedDetails {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** Pacman rounds it. */
  readonly bytes: number;
  /** What it takes the place of: a name, or a name with versions. */
  readonly replaces: readonly string[];
}

const units: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };

function bytesOf(text: string): number {
  const [, amount = "0", unit = "B"] = /^([0-9.]+) (\S+)$/.exec(text) ?? [];
  return Math.round(Number(amount) * (units[unit] ?? 1));
}

/** What `pacman -Si` prints. */
export const parseDetails = (text: string): readonly OfferedDetails[] =>
  text.split(/\n\n+/).flatMap((block) => {
    const field = (name: string): string | undefined => new RegExp(`^${name} *: (.*)$`, "m").exec(block)?.[1]?.trim();
    const [name, version] = [field("Name"), field("Version")];
    if (name === undefined || version === undefined) return [];
    const replaces = (field("Replaces") ?? "").split(/\s+/).filter((each) => each !== "" && each !== "None");
    const bytes = bytesOf(field("Installed Size") ?? "");
    return [{ name, version, architecture: field("Architecture") ?? "any", bytes, replaces }];
  });

const holds: Readonly<Record<string, (order: number) => boolean>> = {
  "=": (order) => order === 0,
  "<": (order) => order < 0,
  ">": (order) => order > 0,
  "<=": (order) => order <= 0,
  ">=": (order) => order >= 0,
};

/** Whether a name with versions, such as `name<2`, is meant for a package. */
export function isMeant(what: string, found: Pick<InstalledRecord, "name" | "version">): boolean {
  const [, name, sign = "", wanted = ""] = /^([^<>=]+)(?:([<>]=?|=)(.+))?$/.exec(what) ?? [];
  if (name !== found.name) return false;
  // A version without a release is meant for all of them.
  const version = wanted.includes("-") ? found.version : found.version.replace(/-[^-]*$/, "");
  return holds[sign]?.(comparePackageVersions(version, wanted)) ?? true;
}

/** What the rows come to. What is replaced is not printed: only the lists tell. */
export function planFrom(
  rows: readonly PrintedRow[],
  details: readonly OfferedDetails[],
  installed: readonly InstalledRecord[],
): TransactionPlan {
  const present = new Map(installed.map((each) => [each.name, each]));
  const offered = new Map(details.map((each) => [`${each.name} ${each.version}`, each]));
  const gone = new Set<InstalledRecord>();
  let diskBytes = 0;
  const changes = rows.map(({ name, version }): PackageChange => {
    const found = offered.get(`${name} ${version}`);
    const before = present.get(name);
    diskBytes += (found?.bytes ?? 0) - (before?.bytes ?? 0);
    if (before === undefined)
      for (const what of found?.replaces ?? [])
        for (const each of installed) if (each.name !== name && isMeant(what, each)) gone.add(each);
    const architecture = found?.architecture ?? before?.architecture ?? "any";
    return { name, architecture, from: before?.version ?? null, to: version, isSecurity: false };
  });
  const removals = [...gone].map(({ name, architecture, version, bytes }): PackageChange => {
    diskBytes -= bytes;
    return { name, architecture, from: version, to: null, isSecurity: false };
  });
  return {
    changes: [...changes, ...removals],
    downloadBytes: rows.reduce((sum, row) => sum + row.downloadBytes, 0),
    diskBytes,
  };
}

const lineOf = ({ name, from, to }: PackageChange): string => `${name} ${from ?? "-"} ${to ?? "-"}`;

/** What one plan does and another does not, in words; empty where they are the same. */
export function differences(one: readonly PackageChange[], other: readonly PackageChange[]): readonly string[] {
  const [a, b] = [new Set(one.map(lineOf)), new Set(other.map(lineOf))];
  return [...[...a].filter((line) => !b.has(line)), ...[...b].filter((line) => !a.has(line))];
}
