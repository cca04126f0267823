import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Progress } from "#domain/ports/packages.ts";
import type { PlainChange } from "../common/changes.ts";
import type { OnLine } from "../common/ports.ts";
import { nameAndArchitecture } from "../common/rpm/names.ts";
import { longestMs } from "../common/transactions.ts";
import type { Dialect, Dnf, InstalledRpm, StoredAction } from "./dialect.ts";
import { checked } from "./plans.ts";

/** Keeps reasons but of what is requested; new packages count as dependencies, unless they replace something that a user asked for. */
export function actionsFor(
  { automatic, reasons, actionsOf }: Pick<Dialect, "automatic" | "reasons" | "actionsOf">,
  changes: readonly PlainChange[],
  installed: readonly InstalledRpm[],
): readonly StoredAction[] {
  const present = new Map(installed.map((each) => [nameAndArchitecture(each), each]));
  const isWanted = (change: PlainChange): boolean => {
    const found = present.get(nameAndArchitecture(change));
    return change.to === null && found !== undefined && !automatic.has(found.reason);
  };
  const isRequest = changes.some(({ isRequested }) => isRequested);
  const ofNew = changes.some(isWanted) && !isRequest ? reasons.user : reasons.dependency;
  return changes.flatMap((change): readonly StoredAction[] => {
    const { name, architecture, from, isRequested } = change;
    const reason = isRequested ? reasons.user : (present.get(nameAndArchitecture(change))?.reason ?? ofNew);
    // Of several versions beside each other one comes and another goes.
    const isBeside = installed.some((each) => {
      return nameAndArchitecture(each) === nameAndArchitecture(change) && each.version !== from;
    });
    return actionsOf(change, isBeside).map(([action, version]) => {
      return { nevra: checked({ name, architecture, version }), action, reason, repo_id: "" };
    });
  });
}

export const storedTransaction = ({ storedVersion }: Pick<Dialect, "storedVersion">, rpms: readonly StoredAction[]) =>
  JSON.stringify({ version: storedVersion, rpms });

export const reporter =
  ({ parseStep }: Pick<Dialect, "parseStep">) =>
  ({ line: report, step }: Progress) =>
  (line: string): void => {
    if (line.trim() === "") return;
    report(line.trimEnd());
    const found = parseStep(line);
    if (found !== undefined) step(found.percent, found.what);
  };

/** Writes a transaction into a directory of its own, lets it be carried out, and takes it away again when that is done. */
export async function withStored<T>(
  { directory }: Pick<Dnf, "directory">,
  unit: string,
  text: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const own = join(directory, `${unit}.dnf`);
  await mkdir(own, { recursive: true, mode: 0o700 });
  const path = join(own, "transaction.json");
  await writeFile(path, text, { mode: 0o600 });
  const done = await work(path);
  await rm(own, { recursive: true, force: true });
  return done;
}

export async function replay(
  dnf: Dnf,
  {
    unit,
    changes,
    onLine,
    ready,
  }: {
    readonly unit: string;
    readonly changes: readonly PlainChange[];
    readonly onLine?: OnLine;
    readonly ready?: (() => Promise<void>) | undefined;
  },
  signal: AbortSignal,
): Promise<string> {
  const { dialect, places, database, transact, changingArgv } = dnf;
  const actions = actionsFor(dialect, changes, (await database(signal)).packages);
  const brings = changes.flatMap(({ name, architecture, to }) =>
    to === null ? [] : [checked({ name, architecture, version: to })],
  );
  const removes = changes.some(({ to }) => to === null);
  const common = { unit, locks: places.changeLocks, timeoutMs: longestMs, onLine };
  return withStored(dnf, unit, storedTransaction(dialect, actions), async (path) => {
    // First all of it is fetched, so that a repository that is gone changes nothing.
    if (brings.length > 0) {
      const description = `Steward downloads packages (${dialect.name} --downloadonly)`;
      const argv = changingArgv(...dialect.downloading(path, brings, removes));
      await transact({ ...common, description, argv, isInterruptible: true }, signal);
    }
    const description = `Steward changes packages (${dialect.name} replay)`;
    const offline = ["--cacheonly", ...(brings.length > 0 ? [] : [dialect.withoutRepositories])];
    const argv = changingArgv(...offline, ...dialect.replaying(path, removes));
    return transact({ ...common, description, argv, ...(ready && { before: ready }) }, signal);
  });
}
