import { CommandFailed } from "#adapters/exec/command.ts";
import { UpdateRefused } from "#domain/ports/packages.ts";
import type { PlainChange } from "../rpm/demands.ts";
import { keyOf, nevraOf, parseNevra } from "../rpm/names.ts";
import type { Asking } from "./asking.ts";
import type { InstalledRpm } from "./lists.ts";
import { availableFormat, parseOffered } from "./lists.ts";
import { failureReason } from "./output.ts";
import type { TableRow } from "./table.ts";
import { parseSummary, parseTable } from "./table.ts";

/**
 * Changes from the rows. Of a package of which several versions are kept, such as a kernel, the new one and the oldest, which
 * goes for it, are one change.
 */
export function changesOf(rows: readonly TableRow[], installed: readonly InstalledRpm[]): readonly PlainChange[] {
  const newest = new Map(installed.map((each) => [keyOf(each), each.version]));
  const removed = [
    ...rows.filter(({ kind }) => kind === "remove"),
    ...rows.flatMap(({ replaces }) => replaces.flatMap((nevra) => parseNevra(nevra) ?? [])),
  ];
  const gone = new Map(removed.map((each) => [keyOf(each), each]));
  const changes = rows.flatMap((row): readonly PlainChange[] => {
    const { kind, name, architecture, version } = row;
    if (kind === "remove" || kind === "reinstall") return [];
    if (kind !== "install") return [{ name, architecture, from: newest.get(keyOf(row)) ?? null, to: version }];
    const from = gone.get(keyOf(row))?.version ?? null;
    gone.delete(keyOf(row));
    return [{ name, architecture, from, to: version }];
  });
  const removals = [...gone.values()].map(({ name, architecture, version }): PlainChange => {
    return { name, architecture, from: version, to: null };
  });
  return [...changes, ...removals];
}

/** What the words would do, as dnf says: changes nothing. @throws UpdateRefused where it cannot be solved. */
export async function simulate(
  { tryAsking }: Pick<Asking, "tryAsking">,
  words: readonly string[],
  signal: AbortSignal,
): Promise<readonly TableRow[]> {
  // Quiet, dnf would not tell what it would do.
  const { exitCode, stdout, stderr } = await tryAsking(["--assumeno", "--verbose", ...words], signal);
  const rows = parseTable(stdout);
  if (rows !== undefined) {
    if (rows.length !== parseSummary(stdout)) throw new CommandFailed("cannot read what dnf would do");
    return rows;
  }
  if (exitCode === 0 || /^Error: No packages marked for (?:upgrade|install)/m.test(stderr)) return [];
  throw new UpdateRefused(failureReason(stderr, exitCode));
}

/** What changes take: bytes to download, and what the disk fills by. */
export async function sizesOf(
  { ask }: Pick<Asking, "ask">,
  changes: readonly PlainChange[],
  installed: readonly InstalledRpm[],
  signal: AbortSignal,
): Promise<{ readonly downloadBytes: number; readonly diskBytes: number }> {
  const wanted = changes.flatMap(({ name, architecture, to }) =>
    to === null ? [] : [{ name, architecture, version: to }],
  );
  const words = ["repoquery", `--queryformat=${availableFormat}`, "--", ...wanted.map(nevraOf)];
  const offered = new Map(
    (wanted.length === 0 ? [] : parseOffered(await ask(words, signal))).map((each) => [nevraOf(each), each]),
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
