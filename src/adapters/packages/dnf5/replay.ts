import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Progress } from "#domain/ports/packages.ts";
import type { PlainChange } from "../common/changes.ts";
import type { Argv, OnLine } from "../common/ports.ts";
import { comparePackageVersions, nameAndArchitecture } from "../common/rpm/names.ts";
import type { InstalledRpm } from "../common/rpm/queries.ts";
import { checked } from "../common/rpm/table.ts";
import { longestMs } from "../common/transactions.ts";
import { type Dnf5, isAutomatic, withoutRepositories } from "./host.ts";

export interface StoredAction {
  readonly nevra: string;
  readonly action: "Install" | "Upgrade" | "Downgrade" | "Replaced" | "Remove";
  readonly reason: string;
  readonly repo_id: string;
  /** Where it comes from no repository. */
  readonly package_path?: string;
}

/** What `replay` does. It refuses what is not in there, and what no longer fits. */
export const storedTransaction = (rpms: readonly StoredAction[]): string => JSON.stringify({ version: "1.0", rpms });

/** Keeps reasons but of what is requested; new packages count as dependencies, unless they replace something that a user asked for. */
export function actionsFor(
  changes: readonly PlainChange[],
  installed: readonly InstalledRpm[],
): readonly StoredAction[] {
  const present = new Map(installed.map((each) => [nameAndArchitecture(each), each]));
  const isWanted = (change: PlainChange): boolean => {
    const found = present.get(nameAndArchitecture(change));
    return change.to === null && found !== undefined && !isAutomatic(found);
  };
  const isRequest = changes.some(({ isRequested }) => isRequested);
  const ofNew = changes.some(isWanted) && !isRequest ? "User" : "Dependency";
  return changes.flatMap((change): readonly StoredAction[] => {
    const { name, architecture, from, to } = change;
    const reason = change.isRequested ? "User" : (present.get(nameAndArchitecture(change))?.reason ?? ofNew);
    const step = (action: StoredAction["action"], version: string): StoredAction => {
      return { nevra: checked({ name, architecture, version }), action, reason, repo_id: "" };
    };
    if (from === null) return to === null ? [] : [step("Install", to)];
    if (to === null) return [step("Remove", from)];
    // Of several versions beside each other one comes and another goes.
    const isBeside = installed.some((each) => {
      return nameAndArchitecture(each) === nameAndArchitecture(change) && each.version !== from;
    });
    if (isBeside) return [step("Install", to), step("Remove", from)];
    return [step(comparePackageVersions(to, from) < 0 ? "Downgrade" : "Upgrade", to), step("Replaced", from)];
  });
}

/** Reads `[ 3/11] Upgrading library-0:2.0-1.noarch 100% | …`; downloads have no verb. */
export function parseStep(line: string): { readonly percent: number; readonly what: string } | undefined {
  const [, at, of, what] =
    /^\[ *(\d+)\/(\d+)\] (Verify package files|Prepare transaction|[A-Z][a-z]+ing \S+) +\d+% \|/.exec(line) ?? [];
  if (what === undefined || Number(of) === 0) return undefined;
  const percent = Math.min(100, Math.round((Number(at) / Number(of)) * 100));
  return { percent, what: `${what.charAt(0).toLowerCase()}${what.slice(1)}` };
}

export const telling =
  ({ line: tell, step }: Progress) =>
  (line: string): void => {
    if (line.trim() === "") return;
    tell(line.trimEnd());
    const found = parseStep(line);
    if (found !== undefined) step(found.percent, found.what);
  };

export const changingArgv = ({ places }: Pick<Dnf5, "places">, ...words: readonly string[]): Argv => [
  ...places.dnf5,
  "--assumeyes",
  ...words,
];

/** Writes a transaction into a folder of its own, lets it be carried out there, and takes it away again when that is done. */
export async function withStored<T>(
  { folder }: Pick<Dnf5, "folder">,
  unit: string,
  actions: readonly StoredAction[],
  work: (path: string) => Promise<T>,
): Promise<T> {
  const path = join(folder, `${unit}.dnf5`);
  await mkdir(path, { recursive: true, mode: 0o700 });
  await writeFile(join(path, "transaction.json"), storedTransaction(actions), { mode: 0o600 });
  const done = await work(path);
  await rm(path, { recursive: true, force: true });
  return done;
}

export async function replay(
  dnf5: Dnf5,
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
  const { places, database, transact } = dnf5;
  const actions = actionsFor(changes, (await database(signal)).packages);
  const locks = [places.transactionLock, places.systemLock];
  const wanted = actions.filter(({ action }) => !/^Re/.test(action)).map(({ nevra }) => nevra);
  // First all of it is fetched, so that a repository that is gone changes nothing. What is resolved here is not done.
  const fetching = ["--setopt=install_weak_deps=0", "install", "--downloadonly", "--allowerasing", "--", ...wanted];
  if (wanted.length > 0)
    await transact(
      {
        unit,
        description: "Steward downloads packages (dnf5 install --downloadonly)",
        argv: changingArgv(dnf5, ...fetching),
        locks,
        timeoutMs: longestMs,
        isInterruptible: true,
        onLine,
      },
      signal,
    );
  return withStored(dnf5, unit, actions, (path) => {
    const offline = ["--cacheonly", ...(wanted.length > 0 ? [] : [withoutRepositories])];
    return transact(
      {
        unit,
        description: "Steward changes packages (dnf5 replay)",
        argv: changingArgv(dnf5, ...offline, "replay", path),
        locks,
        timeoutMs: longestMs,
        onLine,
        ...(ready && { before: ready }),
      },
      signal,
    );
  });
}
