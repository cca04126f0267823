import {
  noChanges,
  type PackageChange,
  type TransactionPlan,
  UpdateRefused,
  type UpdateRequest,
} from "#domain/ports/packages.ts";
import { demandNames, removalOf } from "../common/changes.ts";
import { comparePackageVersions } from "../common/rpm/names.ts";
import type { Pacman, PacmanDatabase } from "./host.ts";
import { currentLists } from "./lists.ts";
import { failureReason } from "./output.ts";
import { type DescribedPackage, type InstalledRecord, isPackageName, parseDescribed } from "./records.ts";

const printFormat = "%r\t%n\t%v\t%s";

export interface PrintedRow {
  readonly repository: string;
  readonly name: string;
  readonly version: string;
  readonly downloadBytes: number;
}

export const parsePrinted = (text: string): readonly PrintedRow[] =>
  text.split("\n").flatMap((line) => {
    const [, repository, name, version, bytes] = /^([^\t]+)\t([^\t]+)\t([^\t]+)\t(\d+)$/.exec(line) ?? [];
    if (repository === undefined || name === undefined || version === undefined) return [];
    return [{ repository, name, version, downloadBytes: Number(bytes) }];
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

/** What the rows come to. What is replaced is not printed: only the lists have it. */
export function planFrom(
  rows: readonly PrintedRow[],
  details: readonly DescribedPackage[],
  installed: readonly InstalledRecord[],
): TransactionPlan {
  const present = new Map(installed.map((each) => [each.name, each]));
  const offered = new Map(details.map((each) => [`${each.name} ${each.version}`, each]));
  const gone = new Set<InstalledRecord>();
  let diskBytes = 0;
  const changes = rows.map(({ name, version }): PackageChange => {
    const found = offered.get(`${name} ${version}`);
    const before = present.get(name);
    diskBytes += (found?.installedBytes ?? 0) - (before?.installedBytes ?? 0);
    if (before === undefined)
      for (const what of found?.replaces ?? [])
        for (const each of installed) if (each.name !== name && isMeant(what, each)) gone.add(each);
    const architecture = found?.architecture ?? before?.architecture ?? "any";
    return { name, architecture, from: before?.version ?? null, to: version, isSecurity: false };
  });
  const removals = [...gone].map((each): PackageChange => {
    diskBytes -= each.installedBytes ?? 0;
    return { ...removalOf(each), isSecurity: false };
  });
  return {
    changes: [...changes, ...removals],
    downloadBytes: rows.reduce((sum, row) => sum + row.downloadBytes, 0),
    diskBytes,
  };
}

/** What pacman would do. @throws UpdateRefused with why it would not. */
export async function rehearse(
  { tryAsking }: Pick<Pacman, "tryAsking">,
  databases: string,
  [operation = "", ...rest]: readonly string[],
  signal: AbortSignal,
): Promise<readonly PrintedRow[]> {
  const words = [operation, "--print", "--print-format", printFormat, ...rest];
  const { exitCode, stdout, stderr } = await tryAsking(databases, words, signal);
  if (exitCode !== 0) throw new UpdateRefused(failureReason(`${stdout}\n${stderr}`, exitCode));
  return parsePrinted(stdout);
}

/** A plan, and from where what comes is installed. */
export interface PlannedChange {
  readonly plan: TransactionPlan;
  readonly rows: readonly PrintedRow[];
}

/** @throws UpdateRefused where one of them is held. */
export function demandUnheld(changes: readonly PackageChange[], { packages, isHeld }: PacmanDatabase): void {
  const held = packages.filter((each) => isHeld(each) && changes.some(({ name }) => name === each.name));
  if (held.length > 0)
    throw new UpdateRefused(
      `pacman would change ${held.map(({ name }) => name).join(", ")}, which is held at its version`,
    );
}

export async function fetchDetails(
  { ask }: Pacman,
  databases: string,
  rows: readonly PrintedRow[],
  signal: AbortSignal,
): Promise<readonly DescribedPackage[]> {
  const names = rows.map(({ repository, name }) => `${repository}/${name}`);
  return names.length === 0 ? [] : parseDescribed(await ask(databases, ["-Si", "--", ...names], signal));
}

export async function fullUpdate(pacman: Pacman, databases: string, signal: AbortSignal): Promise<PlannedChange> {
  const database = await pacman.database(signal);
  const rows = await rehearse(pacman, databases, ["-Su"], signal);
  const plan = planFrom(rows, await fetchDetails(pacman, databases, rows, signal), database.packages);
  demandUnheld(plan.changes, database);
  return { plan, rows };
}

/** @throws UpdateRefused where some are named and others would stay behind: packages fit together only as a whole. */
function demandAll(changes: readonly PackageChange[], names: readonly string[]): void {
  const left = changes.filter(({ name, from }) => from !== null && !names.includes(name)).map(({ name }) => name);
  if (left.length === 0) return;
  const listed = `${left.slice(0, 5).join(", ")}${left.length > 5 ? ` and ${left.length - 5} more` : ""}`;
  throw new UpdateRefused(
    `pacman's packages are updated all together or not at all, and ${listed} would stay behind: name all of them, or none`,
  );
}

function demandNoRemoval(changes: readonly PackageChange[]): void {
  const removed = changes.filter(({ to }) => to === null).map(({ name }) => name);
  if (removed.length > 0)
    throw new UpdateRefused(
      `pacman would remove ${removed.join(", ")}, which others replace: that takes an update of all`,
    );
}

export async function planUpdate(
  pacman: Pacman,
  { type, isSecurityOnly, names }: UpdateRequest,
  signal: AbortSignal,
): Promise<TransactionPlan> {
  if (isSecurityOnly) throw new UpdateRefused("pacman does not distinguish security updates from others");
  const lists = await currentLists(pacman.places);
  if (lists === undefined) throw new UpdateRefused("there are no package lists: they must be refreshed first");
  if (names !== undefined) demandNames(names, await pacman.database(signal), isPackageName);
  const { plan } = await fullUpdate(pacman, lists.databases, signal);
  if (names !== undefined) {
    if (!plan.changes.some(({ name }) => names.includes(name))) return noChanges;
    demandAll(plan.changes, names);
  }
  if (type === "packages") demandNoRemoval(plan.changes);
  return plan;
}
