import { type PresentPackage, qualifiedName } from "#domain/ports/packages.ts";
import type { SnapshotDiff } from "#domain/ports/snapshots.ts";

type ByKey = ReadonlyMap<string, readonly PresentPackage[]>;
const byKey = (packages: readonly PresentPackage[]): ByKey => Map.groupBy(packages, qualifiedName);

/** Whether several versions are installed beside each other, then or now, as of a kernel. */
const isSideBySide = (key: string, ...all: readonly ByKey[]): boolean =>
  all.some((packages) => (packages.get(key)?.length ?? 0) > 1);

export interface PackagePlan {
  readonly put: readonly PresentPackage[];
  readonly remove: readonly PresentPackage[];
}

export function planPackages(earlier: readonly PresentPackage[], now: readonly PresentPackage[]): PackagePlan {
  const [was, is] = [byKey(earlier), byKey(now)];
  const whole = (each: PresentPackage, state: PresentPackage["state"]): string =>
    `${qualifiedName(each)} ${each.version} ${state}`;
  const present = new Set(now.map((each) => whole(each, each.state)));
  const put = earlier.filter((each) => {
    // What was unfinished then is put whole: nobody wants it back as it was.
    const wanted = each.state === "configuration" ? "configuration" : "installed";
    return !present.has(whole(each, wanted));
  });
  const count = (packages: readonly PresentPackage[], name: string): number =>
    packages.filter((each) => each.name === name).length;
  // A package that was for another architecture then is replaced by that one, not removed beside it.
  const isReplaced = ({ name }: PresentPackage): boolean =>
    put.some((each) => each.name === name) && count(earlier, name) === 1 && count(now, name) === 1;
  const remove = now.filter((each) => {
    const key = qualifiedName(each);
    const before = was.get(key);
    if (before === undefined) return !isReplaced(each);
    // Of others the version that is put takes the place of the one that is there.
    return isSideBySide(key, was, is) && !before.some(({ version }) => version === each.version);
  });
  return { put, remove };
}

const versionOf = (found: PresentPackage | undefined): string | null =>
  found === undefined || found.state === "configuration" ? null : found.version;

type Difference = SnapshotDiff["packages"][number];

/** One that went and one of the same name that came, for another architecture, are one that was changed. */
function joinReplaced(differences: readonly Difference[]): readonly Difference[] {
  const gone = differences.filter(({ to }) => to === null);
  const come = differences.filter(({ from }) => from === null);
  const pairs = come.flatMap((each) => {
    const others = gone.filter(({ name, architecture }) => name === each.name && architecture !== each.architecture);
    const [was] = others;
    return was !== undefined && others.length === 1 && come.filter(({ name }) => name === each.name).length === 1
      ? [{ was, is: each }]
      : [];
  });
  const paired = new Set<Difference>(pairs.flatMap(({ was, is }) => [was, is]));
  return [
    ...differences.filter((each) => !paired.has(each)),
    ...pairs.map(({ was, is }) => ({ ...is, from: was.from })),
  ];
}

export function diffPackages(
  earlier: readonly PresentPackage[],
  later: readonly PresentPackage[],
): SnapshotDiff["packages"] {
  const [was, is] = [byKey(earlier), byKey(later)];
  const differences = [...new Set([...was.keys(), ...is.keys()])].flatMap((key): readonly Difference[] => {
    const [before = [], after = []] = [was.get(key), is.get(key)];
    const [first = after[0]] = before;
    if (first === undefined) return [];
    const { name, architecture } = first;
    if (!isSideBySide(key, was, is))
      return [{ name, architecture, from: versionOf(before[0]), to: versionOf(after[0]) }];
    const only = (some: readonly PresentPackage[], others: readonly PresentPackage[]) =>
      some.filter(({ version }) => others.every((other) => other.version !== version));
    return [
      ...only(before, after).map((each) => ({ name, architecture, from: versionOf(each), to: null })),
      ...only(after, before).map((each) => ({ name, architecture, from: null, to: versionOf(each) })),
    ];
  });
  return joinReplaced(differences.filter(({ from, to }) => from !== to)).toSorted((one, other) =>
    qualifiedName(one) < qualifiedName(other) ? -1 : 1,
  );
}
