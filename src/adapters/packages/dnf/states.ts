import type { PackageFaults, PackageVersion } from "#domain/ports/packages.ts";
import { heldIn } from "../common/changes.ts";
import { rememberByMark } from "../common/marks.ts";
import type { Asks } from "../common/ports.ts";
import { nevraOf } from "../rpm/names.ts";
import { cannotAsk, type Dnf, withoutRepositories } from "./host.ts";
import { type CheckFindings, hasTransactions, isUnfinished, parseCheck, unfinishedIn } from "./lists.ts";

export interface Findings extends CheckFindings {
  readonly isInterrupted: boolean;
  readonly brought: readonly PackageVersion[];
  readonly missing: readonly PackageVersion[];
  readonly remaining: readonly PackageVersion[];
}

export async function findingsOf({ tryAsking, database }: Dnf, signal: AbortSignal): Promise<Findings> {
  const list = await tryAsking([withoutRepositories, "history", "list"], signal);
  if (list.exitCode !== 0) throw cannotAsk(list);
  let last = "";
  if (hasTransactions(list.stdout)) {
    const info = await tryAsking([withoutRepositories, "history", "info", "last"], signal);
    if (info.exitCode !== 0) throw cannotAsk(info);
    last = info.stdout;
  }
  const check = await tryAsking([withoutRepositories, "--disableexcludes=all", "check"], signal);
  const found = parseCheck(check.stdout);
  if (check.exitCode !== 0 && !/^Error: Check discovered \d+ problem/m.test(check.stderr)) throw cannotAsk(check);
  const { brought, removed } = isUnfinished(last) ? unfinishedIn(last) : { brought: [], removed: [] };
  const present = new Set((await database(signal)).packages.map(nevraOf));
  const missing = brought.filter((each) => !present.has(nevraOf(each)));
  const remaining = removed.filter((each) => present.has(nevraOf(each)));
  const isLeft = found.duplicates.length + missing.length + remaining.length > 0;
  return { ...found, isInterrupted: isUnfinished(last) && isLeft, brought, missing, remaining };
}

export function createFaults(dnf: Dnf): Asks<PackageFaults> {
  const remembered = rememberByMark<Findings>();
  const unfinished = (state: string, { name, version }: PackageVersion) => {
    return { name, version, state, mustBeReinstalled: false };
  };

  return async (signal) => {
    // First who writes, then what is written: in the middle of a transaction all of it looks broken off.
    const writer = await dnf.writer();
    const state = await dnf.database(signal);
    const found = writer === undefined ? await remembered(state.mark, () => findingsOf(dnf, signal)) : undefined;
    return {
      installed: state.packages.length,
      unfinished: [
        ...(found?.duplicates ?? []).map(({ old, kept }) => unfinished(`left beside ${kept.version}`, old)),
        ...(found?.missing ?? []).map((each) => unfinished("not installed yet", each)),
        ...(found?.remaining ?? []).map((each) => unfinished("not removed yet", each)),
      ],
      isInterrupted: found?.isInterrupted ?? false,
      unmet: found?.unmet ?? [],
      held: heldIn(state),
      writer,
    };
  };
}
