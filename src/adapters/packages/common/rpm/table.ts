import { type PackageVersion, UpdateRefused, type UpdateRequest } from "#domain/ports/packages.ts";
import { type PlainChange, removalOf } from "../changes.ts";
import type { Missing } from "../package-files.ts";
import { isPackageName, nameAndArchitecture, nevraOf, parseNevra } from "./names.ts";
import { isJust } from "./package-files.ts";
import { type InstalledRpm, parseOffered } from "./queries.ts";

/** A line of the table in which dnf tells what it would do. */
export interface TableRow {
  readonly kind: "install" | "upgrade" | "downgrade" | "reinstall" | "remove";
  readonly name: string;
  readonly architecture: string;
  readonly version: string;
  readonly repository: string;
  readonly replaces: readonly string[];
}

export type Simulate = (words: readonly string[], signal: AbortSignal) => Promise<readonly TableRow[]>;
export type Asking = (words: readonly string[], signal: AbortSignal) => Promise<string>;

export function changesOf(rows: readonly TableRow[], installed: readonly InstalledRpm[]): readonly PlainChange[] {
  const newest = new Map(installed.map((each) => [nameAndArchitecture(each), each.version]));
  const removed = [
    ...rows.filter(({ kind }) => kind === "remove"),
    ...rows.flatMap(({ replaces }) => replaces.flatMap((nevra) => parseNevra(nevra) ?? [])),
  ];
  // Of what may be there in several versions, such as kernels, several may go.
  const gone = new Map<string, PackageVersion>(removed.map((each) => [nevraOf(each), each]));
  const replacedBy = (row: TableRow): string | null => {
    const found = [...gone.values()].find((each) => nameAndArchitecture(each) === nameAndArchitecture(row));
    if (found !== undefined) gone.delete(nevraOf(found));
    return found?.version ?? null;
  };
  const changes = rows.flatMap((row): readonly PlainChange[] => {
    const { kind, name, architecture, version } = row;
    if (kind === "remove" || kind === "reinstall") return [];
    if (kind !== "install")
      return [{ name, architecture, from: newest.get(nameAndArchitecture(row)) ?? null, to: version }];
    return [{ name, architecture, from: replacedBy(row), to: version }];
  });
  return [...changes, ...[...gone.values()].map(removalOf)];
}

/** How often what takes the place of others is left out before it is seen that there is no way without it. */
const mostRounds = 5;

export async function upgradeRows(
  simulate: Simulate,
  { type }: UpdateRequest,
  operands: readonly string[],
  signal: AbortSignal,
): Promise<readonly TableRow[]> {
  const words = ["upgrade", ...(operands.length > 0 ? ["--", ...operands] : [])];
  const excluded = new Set<string>();
  for (let round = 1; ; round += 1) {
    const rows = await simulate([...[...excluded].map((name) => `--exclude=${name}`), ...words], signal);
    const taking = rows.filter(({ kind, replaces }) => kind === "install" && replaces.length > 0);
    if (type !== "packages" || taking.length === 0 || round > mostRounds) return rows;
    for (const { name } of taking) excluded.add(name);
  }
}

/** @param ask answers with what the repositories have of these packages, in the words of {@link parseOffered}. */
export async function sizesOf(
  ask: Asking,
  changes: readonly PlainChange[],
  installed: readonly InstalledRpm[],
  signal: AbortSignal,
): Promise<{ readonly downloadBytes: number; readonly diskBytes: number }> {
  const wanted = changes.flatMap(({ name, architecture, to }) =>
    to === null ? [] : [{ name, architecture, version: to }],
  );
  const offered = new Map(
    (wanted.length === 0 ? [] : parseOffered(await ask(wanted.map(nevraOf), signal))).map((each) => [
      nevraOf(each),
      each,
    ]),
  );
  const present = new Map(installed.map((each) => [nevraOf(each), each.bytes]));
  const sums = { downloadBytes: 0, diskBytes: 0 };
  for (const found of offered.values()) {
    sums.downloadBytes += found.downloadBytes;
    sums.diskBytes += found.bytes;
  }
  for (const { name, architecture, from } of changes)
    if (from !== null) sums.diskBytes -= present.get(nevraOf({ name, architecture, version: from })) ?? 0;
  return sums;
}

/** Whether a transaction would do just what is missing. */
export const isExactly = (rows: readonly TableRow[], missing: Missing): boolean =>
  isJust(
    rows.flatMap((row) => [
      `${row.kind === "remove" ? "-" : "+"}${nevraOf(row)}`,
      ...row.replaces.map((nevra) => `-${nevra}`),
    ]),
    missing,
  );

/** @throws UpdateRefused for what is not a name of a package. */
export function checked(found: PackageVersion): string {
  const nevra = nevraOf(found);
  if (!isPackageName(found.name) || parseNevra(nevra) === undefined)
    throw new UpdateRefused(`cannot use ${JSON.stringify(nevra)} as the name of a package`);
  return nevra;
}
