import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Progress } from "#domain/ports/packages.ts";
import type { PlainChange } from "../common/changes.ts";
import type { Argv, OnLine } from "../common/ports.ts";
import { nameAndArchitecture } from "../common/rpm/names.ts";
import type { InstalledRpm } from "../common/rpm/queries.ts";
import { checked } from "../common/rpm/table.ts";
import { longestMs } from "../common/transactions.ts";
import { type Dnf, withoutRepositories } from "./host.ts";

interface StoredAction {
  readonly action: "Install" | "Upgrade" | "Upgraded" | "Removed";
  readonly nevra: string;
  readonly reason: string;
  readonly repo_id: "";
}

/** Keeps reasons but of what is requested; new packages count as dependencies, unless they replace something that a user asked for. */
export function storedTransaction(changes: readonly PlainChange[], installed: readonly InstalledRpm[]): string {
  const reasons = new Map(installed.map((each) => [nameAndArchitecture(each), each.reason]));
  const removed = changes.filter(({ to }) => to === null).map((each) => reasons.get(nameAndArchitecture(each)));
  const isRequest = changes.some(({ isRequested }) => isRequested);
  const ofNew = removed.includes("user") && !isRequest ? "user" : "dependency";
  const rpms = changes.flatMap((change): readonly StoredAction[] => {
    const { name, architecture, from, to } = change;
    const reason = change.isRequested ? "user" : (reasons.get(nameAndArchitecture(change)) ?? ofNew);
    const nevra = (version: string): string => checked({ name, architecture, version });
    const step = (action: StoredAction["action"], version: string): StoredAction => {
      return { action, nevra: nevra(version), reason, repo_id: "" };
    };
    if (to === null) return from === null ? [] : [step("Removed", from)];
    return from === null ? [step("Install", to)] : [step("Upgrade", to), step("Upgraded", from)];
  });
  return JSON.stringify({ version: "0.0", rpms });
}

export function parseStep(line: string): { readonly percent: number; readonly what: string } | undefined {
  const [, verb, name, at, of] = /^ +(\S[^:]*?) *: (\S+) +(\d+)\/(\d+)\s*$/.exec(line.replace(/\r/g, "")) ?? [];
  if (verb === undefined || name === undefined || Number(of) === 0) return undefined;
  return { percent: Math.min(100, Math.round((Number(at) / Number(of)) * 100)), what: `${verb.toLowerCase()} ${name}` };
}

export const telling =
  ({ line: tell, step }: Progress) =>
  (line: string): void => {
    if (line.trim() === "") return;
    tell(line.trimEnd());
    const found = parseStep(line);
    // To verify is the last tenth; the numbers begin again there.
    if (found?.what.startsWith("verifying")) step(90 + Math.floor(found.percent / 10), found.what);
    else if (found !== undefined) step(Math.floor(found.percent * 0.9), found.what);
  };

/** Words of each change: no question, no wait for locks, and what is not available is an error. */
const changing = ["--assumeyes", "--setopt=exit_on_lock=1", "--setopt=strict=1"] as const;

export const changingArgv = ({ places }: Dnf, ...words: readonly string[]): Argv => [
  ...places.dnf,
  ...changing,
  ...words,
];

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
  const { places, folder, database, transact } = dnf;
  const { packages } = await database(signal);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${unit}.json`);
  await writeFile(path, storedTransaction(changes, packages), { mode: 0o600 });
  const takesPlaces = changes.some(({ to }) => to === null);
  const run = (description: string, words: readonly string[]): Promise<string> => {
    const obsoletes = `--setopt=obsoletes=${takesPlaces ? 1 : 0}`;
    const argv = [...places.dnf, ...words, ...changing, obsoletes, "history", "replay", path] as const;
    const isInterruptible = words.includes("--downloadonly");
    const locks = [places.transactionLock];
    const before = isInterruptible ? undefined : ready;
    return transact(
      { unit, description, argv, locks, timeoutMs: longestMs, isInterruptible, onLine, ...(before && { before }) },
      signal,
    );
  };
  const isFetched = changes.some(({ to }) => to !== null);
  // First all of it is fetched, so that a repository that is gone changes nothing.
  if (isFetched) await run("Steward downloads packages (dnf history replay --downloadonly)", ["--downloadonly"]);
  const offline = ["--cacheonly", ...(isFetched ? [] : [withoutRepositories])];
  const output = await run("Steward changes packages (dnf history replay)", offline);
  await rm(path, { force: true });
  return output;
}
