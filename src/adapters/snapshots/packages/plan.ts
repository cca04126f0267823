import type { PresentPackage } from "#domain/ports/packages.ts";
import type { SnapshotDiff } from "#domain/ports/snapshots.ts";

type Key = Pick<PresentPackage, "name" | "architecture">;
const qualifiedName = ({ name, architecture }: Key): string => `${name}:${architecture}`;
const byKey = <T extends Key>(packages: readonly T[]): ReadonlyMap<string, T> =>
  new Map(packages.map((each) => [qualifiedName(each), each]));

export interface PackagePlan {
  readonly put: readonly PresentPackage[];
  readonly remove: readonly Key[];
}

export function planPackages(earlier: readonly PresentPackage[], now: readonly PresentPackage[]): PackagePlan {
  const was = byKey(earlier);
  // Of a kernel several versions are installed beside each other, so that the key alone does not find it.
  const whole = ({ version, ...each }: PresentPackage, state: PresentPackage["state"]): string =>
    `${qualifiedName(each)} ${version} ${state}`;
  const is = new Set(now.map((each) => whole(each, each.state)));
  const put = earlier.filter((each) => {
    // What was unfinished then is put whole: nobody wants it back as it was.
    const wanted = each.state === "configuration" ? "configuration" : "installed";
    return !is.has(whole(each, wanted));
  });
  const count = (packages: readonly Key[], name: string): number =>
    packages.filter((each) => each.name === name).length;
  // A package that was for another architecture then is replaced by that one, not removed beside it.
  const isReplaced = ({ name }: Key): boolean =>
    put.some((each) => each.name === name) && count(earlier, name) === 1 && count(now, name) === 1;
  return { put, remove: now.filter((each) => !was.has(qualifiedName(each)) && !isReplaced(each)) };
}

const versionOf = (found: PresentPackage | undefined): string | null =>
  found === undefined || found.state === "configuration" ? null : found.version;

type Difference = SnapshotDiff["packages"][number];

/** One that went and one of the same name that came, for another architecture, are one that was changed. */
function joinReplaced(differences: readonly Difference[]): readonly Difference[] {
  const gone = differences.filter(({ to }) => to === null);
  const come = differences.filter(({ from }) => from === null);
  const pairs = come.flatMap((each) => {
    const others = gone.filter(({ name }) => name === each.name);
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
  const was = byKey(earlier);
  const is = byKey(later);
  const differences = [...new Map([...was, ...is])]
    .map(([key, { name, architecture }]) => {
      return { name, architecture, from: versionOf(was.get(key)), to: versionOf(is.get(key)) };
    })
    .filter(({ from, to }) => from !== to);
  return joinReplaced(differences).toSorted((one, other) => (qualifiedName(one) < qualifiedName(other) ? -1 : 1));
}
