import {
  type PackageChange,
  PackagesLocked,
  type Progress,
  type TransactionPlan,
  type Transactions,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import { demandSame } from "../common/changes.ts";
import { asResult, longestMs, unitFor } from "../common/transactions.ts";
import { type RequestedChange, requestOf } from "./change.ts";
import { changing, type Pacman } from "./host.ts";
import { adoptLists, currentLists, prepareLists } from "./lists.ts";
import { parseStep, scriptAndHookFailures } from "./output.ts";
import type { PlannedChange, PrintedRow } from "./simulation.ts";

/** To download counts as a tenth of all. */
const downloadPercent = 10;

export function reporter({ line: report, step }: Progress, total: number): (line: string) => void {
  let started = 0;
  return (line) => {
    if (line.trim() === "") return;
    report(line.trimEnd());
    const found = parseStep(line);
    if (found === undefined) return;
    const share = Math.min(1, started / Math.max(1, total));
    started += 1;
    step(downloadPercent + Math.floor(share * (100 - downloadPercent)), `${found.verb} ${found.name}`);
  };
}

/** What is done of a plan, and how it is seen that it is still what was planned. */
interface Work {
  readonly words: readonly string[];
  /** How what comes is downloaded before; undefined where nothing comes. */
  readonly download: { readonly words: readonly string[]; readonly transact: Pacman["hostTransact"] } | undefined;
  /** @returns its operands. @throws UpdateRefused where pacman would do something else by now. */
  readonly demandPlanned: () => Promise<readonly string[]>;
  /** Right before packages change, and again when a lock then delays it. */
  readonly prepare: (ready: () => Promise<void>) => Promise<void>;
  /** When nothing was changed after all, or not all. */
  readonly takeBack: () => Promise<void>;
}

/**
 * Exact versions of those that are installed or were asked for. Other new ones are left to pacman, which would otherwise mark them
 * explicit.
 */
export const targetsOf = (rows: readonly PrintedRow[], { changes }: TransactionPlan): readonly string[] => {
  const isTarget = ({ from, isRequested }: PackageChange): boolean => from !== null || isRequested === true;
  return rows
    .filter(({ name }) => changes.some((change) => change.name === name && isTarget(change)))
    .map(({ repository, name, version }) => `${repository}/${name}=${version}`);
};

type Committing = Pick<Pacman, "database" | "hostTransact" | "listsTransact" | "places"> & {
  readonly fullUpdate: (databases: string, signal: AbortSignal) => Promise<PlannedChange>;
  readonly planChange: (request: RequestedChange, signal: AbortSignal) => Promise<PlannedChange>;
};

/** Downloads, then gives the host the lists of the plan; these are taken back where it fails before a change. */
async function updating(pacman: Committing, plan: TransactionPlan, signal: AbortSignal): Promise<Work> {
  const { fullUpdate, database, hostTransact, listsTransact, places } = pacman;
  const lists = await currentLists(places);
  if (lists === undefined) throw new UpdateRefused("there are no package lists: they must be refreshed first");
  const { databases, isOwn } = lists;
  if (isOwn) await prepareLists(places);
  let mark = "";
  let giveBack: (() => Promise<void>) | undefined;

  const demandPlanned = async (from = databases): Promise<readonly string[]> => {
    const { plan: now, rows } = await fullUpdate(from, signal);
    demandSame(now.changes, plan.changes);
    return targetsOf(rows, plan);
  };

  return {
    words: ["-Su"],
    download: isOwn
      ? { words: ["--dbpath", databases, "--logfile", "/dev/null", "-Suw"], transact: listsTransact }
      : { words: ["-Suw"], transact: hostTransact },
    demandPlanned,
    async prepare(ready) {
      await giveBack?.();
      giveBack = undefined;
      await ready();
      if ((await currentLists(places))?.databases !== databases)
        throw new UpdateRefused("somebody has refreshed the package lists since it was planned");
      await demandPlanned();
      ({ mark } = await database(signal));
      if (!isOwn) return;
      giveBack = await adoptLists(places);
      await demandPlanned(places.databases);
    },
    async takeBack() {
      // Where packages were changed, the newer lists are the ones that fit.
      if ((await database(signal)).mark === mark) await giveBack?.();
    },
  };
}

const verbs = { install: ["-S", "--needed"], remove: ["-R"], purge: ["-R", "--nosave"] } as const;

/** Makes packages come or go. */
function changingPackages(
  pacman: Committing,
  request: RequestedChange,
  plan: TransactionPlan,
  signal: AbortSignal,
): Work {
  const isInstall = request.change === "install";
  const demandPlanned = async (): Promise<readonly string[]> => {
    const { plan: now, rows } = await pacman.planChange(request, signal);
    demandSame(now.changes, plan.changes);
    return isInstall ? targetsOf(rows, plan) : request.names;
  };
  return {
    words: verbs[request.change],
    download: isInstall ? { words: ["-Sw"], transact: pacman.hostTransact } : undefined,
    demandPlanned,
    async prepare(ready) {
      await ready();
      await demandPlanned();
    },
    takeBack: () => Promise.resolve(),
  };
}

export function createCommit(pacman: Committing): Transactions["commit"] {
  const { hostTransact, places } = pacman;

  return async (plan, { id, progress, ready }, signal) => {
    const common = { unit: unitFor(id), onLine: reporter(progress, plan.changes.length), timeoutMs: longestMs };
    if (plan.changes.length === 0) return { isDone: true, reason: "" };
    const request = requestOf(plan);
    const { words, download, demandPlanned, prepare, takeBack } =
      request === undefined ? await updating(pacman, plan, signal) : changingPackages(pacman, request, plan, signal);
    const operands = await demandPlanned();
    const argvOf = (...given: readonly string[]) =>
      [...places.pacman, ...changing, ...given, "--", ...operands] as const;

    if (download !== undefined) {
      const description = `Steward downloads packages (pacman ${download.words.at(-1)})`;
      const transaction = { ...common, description, argv: argvOf(...download.words), isInterruptible: true };
      const downloaded = await asResult(() => download.transact(transaction, signal));
      if (!downloaded.isDone) return downloaded;
      progress.step(downloadPercent, "packages are downloaded");
    }
    const description = `Steward changes packages (pacman ${words.join(" ")})`;
    const before = () => prepare(async () => ready?.());
    try {
      const transaction = { ...common, description, argv: argvOf(...words), before };
      const changed = await asResult(() => hostTransact(transaction, signal), scriptAndHookFailures);
      if (!changed.isDone) await takeBack();
      return changed;
    } catch (error) {
      // After anything else it may still be running.
      if (error instanceof UpdateRefused || error instanceof PackagesLocked) await takeBack();
      throw error;
    }
  };
}
