import { type PackageVersion, UpdateRefused, type UpdateRequest } from "#domain/ports/packages.ts";
import { type PlainChange, removalOf } from "../common/changes.ts";
import type { Missing } from "../common/package-files.ts";
import type { PlannedChange } from "../common/rpm/change-plan.ts";
import { isPackageName, nameAndArchitecture, nevraOf, parseNevra, type Wanted, wordOf } from "../common/rpm/names.ts";
import { isJust } from "../common/rpm/package-files.ts";
import type { Dnf, InstalledRpm, RpmDatabase, TableRow } from "./dialect.ts";
import { availableFormat, parseOffered } from "./repoquery.ts";

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

/** What dnf would do, by the table that it shows: one that it stores would be easier to read, but dnf 5 downloads the packages for that. */
export async function simulate(dnf: Dnf, words: readonly string[], signal: AbortSignal): Promise<readonly TableRow[]> {
  const { dialect, tryAsking } = dnf;
  const result = await tryAsking([...dialect.planning, ...words], signal);
  const rows = dialect.parsePlan(result.stdout);
  if (rows !== undefined) return rows;
  if (result.exitCode === 0 || /^Error: No packages marked for (?:upgrade|install)/m.test(result.stderr)) return [];
  throw new UpdateRefused(dialect.output.failureReason(dialect.toldIn(result), result.exitCode));
}

/** How often what takes the place of others is left out before it is seen that there is no way without it. */
const mostRounds = 5;

async function upgradeRows(
  dnf: Dnf,
  { type }: UpdateRequest,
  operands: readonly string[],
  signal: AbortSignal,
): Promise<readonly TableRow[]> {
  const words = ["upgrade", ...(operands.length > 0 ? ["--", ...operands] : [])];
  const excluded = new Set<string>();
  for (let round = 1; ; round += 1) {
    const rows = await simulate(dnf, [...[...excluded].map((name) => `--exclude=${name}`), ...words], signal);
    const taking = rows.filter(({ kind, replaces }) => kind === "install" && replaces.length > 0);
    if (type !== "packages" || taking.length === 0 || round > mostRounds) return rows;
    for (const { name } of taking) excluded.add(name);
  }
}

/** By what the repositories say of the packages that come. */
export async function sizesOf(
  { ask, formatted }: Dnf,
  changes: readonly PlainChange[],
  installed: readonly InstalledRpm[],
  signal: AbortSignal,
): Promise<{ readonly downloadBytes: number; readonly diskBytes: number }> {
  const wanted = changes.flatMap(({ name, architecture, to }) =>
    to === null ? [] : [nevraOf({ name, architecture, version: to })],
  );
  const words = ["repoquery", formatted(availableFormat), "--", ...wanted];
  const answer = wanted.length === 0 ? [] : parseOffered(await ask(words, signal));
  const offered = new Map(answer.map((each) => [nevraOf(each), each]));
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

/** The newest version is installed, or none. */
const installWords = (wanted: readonly Wanted[], mayErase: boolean): readonly string[] => [
  "install",
  "--best",
  ...(mayErase ? ["--allowerasing"] : []),
  "--",
  ...wanted.map(wordOf),
];

/** What nothing needs afterwards stays, whatever the settings say. */
const removeWords = (packages: readonly PackageVersion[]): readonly string[] => [
  "--setopt=clean_requirements_on_remove=0",
  "remove",
  "--",
  ...packages.map(checked),
];

type State = Pick<RpmDatabase, "packages">;

export function createPlans(dnf: Dnf) {
  const planned = (rows: readonly TableRow[], { packages }: State, signal: AbortSignal): PlannedChange => {
    const changes = changesOf(rows, packages);
    return { changes, sizes: () => sizesOf(dnf, changes, packages, signal) };
  };
  return {
    async plan(request: UpdateRequest, wanted: readonly PackageVersion[], state: State, signal: AbortSignal) {
      const operands = request.isSecurityOnly ? wanted.map(nevraOf) : (request.names ?? []);
      const update = planned(await upgradeRows(dnf, request, operands, signal), state, signal);
      return { ...update, removals: update.changes };
    },
    planInstall: async (wanted: readonly Wanted[], mayErase: boolean, state: State, signal: AbortSignal) =>
      planned(await simulate(dnf, installWords(wanted, mayErase), signal), state, signal),
    planRemoval: async (packages: readonly PackageVersion[], state: State, signal: AbortSignal) =>
      planned(await simulate(dnf, [dnf.dialect.withoutRepositories, ...removeWords(packages)], signal), state, signal),
  };
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
