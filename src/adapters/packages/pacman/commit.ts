import {
  type PackageManager,
  PackagesLocked,
  type Progress,
  type TransactionPlan,
  type TransactionResult,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import { demandSame } from "../common/changes.ts";
import { asResult, longestMs, unitFor } from "../common/transactions.ts";
import type { Pacman, PacmanDatabase } from "./host.ts";
import { adoptLists, currentLists, type PackageLists, prepareLists } from "./lists.ts";
import { parseStep, scriptAndHookFailures } from "./output.ts";
import { changing } from "./repairs.ts";
import type { FullUpdate, PrintedRow } from "./simulation.ts";

/** To download counts as a tenth of all. */
export const downloadPercent = 10;

export function telling({ line: tell, step }: Progress, total: number): (line: string) => void {
  let begun = 0;
  return (line) => {
    if (line.trim() === "") return;
    tell(line.trimEnd());
    const found = parseStep(line);
    if (found === undefined) return;
    const share = Math.min(1, begun / Math.max(1, total));
    begun += 1;
    step(downloadPercent + Math.floor(share * (100 - downloadPercent)), `${found.verb} ${found.name}`);
  };
}

/** Exact versions of installed packages. New ones are left to pacman, which would otherwise mark them explicit. */
export const targetsOf = (rows: readonly PrintedRow[], { changes }: TransactionPlan): readonly string[] =>
  rows
    .filter(({ name }) => changes.some((change) => change.name === name && change.from !== null))
    .map(({ repository, name, version }) => `${repository}/${name}=${version}`);

/** Downloads, then gives the host the lists of the plan; these are taken back where it fails before a change. */
export function createCommit(
  pacman: Pick<Pacman, "database" | "hostTransact" | "listsTransact" | "places"> & {
    readonly fullUpdate: (databases: string, database: PacmanDatabase, signal: AbortSignal) => Promise<FullUpdate>;
  },
): PackageManager["commit"] {
  const { fullUpdate, database, hostTransact, listsTransact, places } = pacman;

  const demandPlanned = async (databases: string, plan: TransactionPlan, signal: AbortSignal) => {
    const { plan: now, rows } = await fullUpdate(databases, await database(signal), signal);
    demandSame(now.changes, plan.changes);
    return targetsOf(rows, plan);
  };

  const update = async (
    { databases, isOwn }: PackageLists,
    plan: TransactionPlan,
    { id, progress, ready }: Parameters<PackageManager["commit"]>[1],
    signal: AbortSignal,
  ): Promise<TransactionResult> => {
    const unit = unitFor(id);
    const common = { unit, onLine: telling(progress, plan.changes.length), timeoutMs: longestMs };
    const targets = await demandPlanned(databases, plan, signal);
    await prepareLists(places);
    const downloaded = await asResult(async () => {
      const description = "Steward downloads packages (pacman -Suw)";
      const words = [...changing, "-Suw", "--", ...targets];
      const own = isOwn ? ["--dbpath", databases, "--logfile", "/dev/null"] : [];
      const argv = [...places.pacman, ...own, ...words] as const;
      await (isOwn ? listsTransact : hostTransact)({ ...common, description, argv, isInterruptible: true }, signal);
    });
    if (!downloaded.isDone) return downloaded;
    progress.step(downloadPercent, "packages are downloaded");

    let mark = "";
    let giveBack: (() => Promise<void>) | undefined;
    const before = async (): Promise<void> => {
      await giveBack?.();
      giveBack = undefined;
      await ready?.();
      if ((await currentLists(places))?.databases !== databases)
        throw new UpdateRefused("somebody has refreshed the package lists since it was planned");
      await demandPlanned(databases, plan, signal);
      ({ mark } = await database(signal));
      if (!isOwn) return;
      giveBack = await adoptLists(places);
      await demandPlanned(places.databases, plan, signal);
    };
    let output = "";
    const takeBack = async (): Promise<void> => {
      // Where packages were changed, the newer lists are the ones that fit.
      if ((await database(signal)).mark === mark) await giveBack?.();
    };
    const description = "Steward changes packages (pacman -Su)";
    const argv = [...places.pacman, ...changing, "-Su", "--", ...targets] as const;
    try {
      const changed = await asResult(async () => {
        output = await hostTransact({ ...common, description, argv, before }, signal);
      });
      if (!changed.isDone) await takeBack();
      const failures = scriptAndHookFailures(output);
      return changed.isDone && failures !== "" ? { isDone: false, reason: failures } : changed;
    } catch (error) {
      // After anything else it may still be running.
      if (error instanceof UpdateRefused || error instanceof PackagesLocked) await takeBack();
      throw error;
    }
  };

  return async (plan, transaction, signal) => {
    unitFor(transaction.id);
    if (plan.changes.length === 0) return { isDone: true, reason: "" };
    const lists = await currentLists(places);
    if (lists === undefined) throw new UpdateRefused("there are no package lists: they have to be refreshed first");
    return update(lists, plan, transaction, signal);
  };
}
