import { mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { readTextOrEmpty, writeFileAtomic } from "#adapters/files/index.ts";
import {
  type Holds,
  type PackageChange,
  type PresentPackage,
  type Progress,
  qualifiedName,
  type TransactionPlan,
  type TransactionResult,
  type Transactions,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import { formatBytes } from "#kernel/text.ts";
import { demandSame } from "../common/changes.ts";
import { asResult, longestMs, type Transact, type Transaction, unitFor } from "../common/transactions.ts";
import {
  type AptArguments,
  type AptPaths,
  argumentsFor,
  isPackageName,
  packageArgument,
  toArguments,
  withoutCaches,
  withoutSources,
} from "./arguments.ts";
import { parseStatusLine, readableLine } from "./output.ts";
import type { Simulate } from "./plan.ts";

/** Packages to be marked automatic after a transaction; written down before it, since apt takes no mark of half-installed ones. */
export function createMarks(directory: string) {
  const pathOf = (unit: string): string => join(directory, `${unit}.auto`);

  const read = async (unit: string): Promise<readonly string[]> => {
    const text = await readTextOrEmpty(pathOf(unit));
    return text.split("\n").filter(isPackageName);
  };

  return {
    read,
    /** Those of an earlier attempt at the same transaction stay. */
    async remember(unit: string, words: readonly string[]): Promise<void> {
      const all = [...new Set([...(await read(unit)), ...words])];
      if (all.length === 0) return;
      await mkdir(directory, { recursive: true, mode: 0o700 });
      writeFileAtomic(pathOf(unit), all.map((word) => `${word}\n`).join(""));
    },
    forget: (unit: string): Promise<void> => rm(pathOf(unit), { force: true }),
  };
}

export type Marks = ReturnType<typeof createMarks>;

export const namesAtOnce = 500;

export const archives = "/var/cache/apt/archives";

export const progressReporter =
  (progress: Progress) =>
  (line: string): void => {
    const status = parseStatusLine(line);
    if (status !== undefined) progress.step(status.percent, status.what);
    const text = readableLine(line);
    if (text !== undefined) progress.line(text);
  };

/** Apt marks what it is asked to install as manual: packages that were automatic must be marked again. */
export const wordsToMark = (
  changes: readonly PackageChange[],
  isAutomatic: (change: PackageChange) => boolean,
): readonly string[] =>
  changes
    .filter((change) => change.to !== null && change.isRequested !== true)
    .filter((change) => change.from === null || isAutomatic(change))
    .map(packageArgument);

export const markCommands = (words: readonly string[]): NonNullable<Transaction["afterwards"]> =>
  Array.from({ length: Math.ceil(words.length / namesAtOnce) }, (_, at) => [
    "/usr/bin/apt-mark",
    "auto",
    ...words.slice(at * namesAtOnce, (at + 1) * namesAtOnce),
  ]);

async function requireDiskSpace(
  { downloadBytes, diskBytes }: TransactionPlan,
  directories: Directories,
): Promise<void> {
  const [packages, downloads] = await Promise.all([statfs(directories.packages), statfs(directories.archives)]);
  const isOne = packages.type === downloads.type && packages.blocks === downloads.blocks;
  const demands = [
    { directory: directories.archives, bytes: downloadBytes, free: downloads.bavail * downloads.bsize },
    {
      directory: directories.packages,
      bytes: Math.max(diskBytes, 0) + (isOne ? downloadBytes : 0),
      free: packages.bavail * packages.bsize,
    },
  ];
  const lacking = demands.find(({ bytes, free }) => bytes > free);
  if (lacking === undefined) return;
  const { directory, bytes, free } = lacking;
  throw new UpdateRefused(
    `not enough disk space: ${directory} has ${formatBytes(free)} free and ${formatBytes(bytes)} are needed`,
  );
}

interface Directories {
  readonly packages: string;
  readonly archives: string;
}

export function createCommit(ports: {
  readonly simulate: Pick<Simulate, "changes">;
  readonly transact: Transact;
  readonly paths: Pick<AptPaths, "frontendLock" | "databaseLock">;
  readonly isAutomatic: (signal: AbortSignal) => Promise<(change: PackageChange) => boolean>;
  readonly marks: Marks;
  readonly directories?: Directories;
}) {
  const { simulate, transact, paths, isAutomatic, marks, directories = { packages: "/usr", archives } } = ports;
  const locks = [paths.frontendLock, paths.databaseLock];

  const demandPlanned = async (words: AptArguments, plan: TransactionPlan, signal: AbortSignal): Promise<void> => {
    demandSame(await simulate.changes(words, signal), plan.changes);
  };

  return async (
    plan: TransactionPlan,
    { id, progress, ready }: Parameters<Transactions["commit"]>[1],
    signal: AbortSignal,
  ): Promise<TransactionResult> => {
    const unit = unitFor(id);
    if (plan.changes.length === 0) return { isDone: true, reason: "" };
    const words = argumentsFor(plan.changes, plan.isPurge);
    const common = { unit, locks, onLine: progressReporter(progress), timeoutMs: longestMs };
    const argv = (...how: readonly string[]): Transaction["argv"] => [
      "/usr/bin/apt-get",
      "--option=APT::Status-Fd=1",
      ...how,
      ...toArguments(words),
    ];
    await demandPlanned(words, plan, signal);
    await requireDiskSpace(plan, directories);
    const description = "Steward downloads packages (apt-get install --download-only)";
    const downloaded = await asResult(() =>
      transact({ ...common, description, argv: argv("--download-only"), isInterruptible: true }, signal),
    );
    if (!downloaded.isDone) return downloaded;
    await marks.remember(unit, wordsToMark(plan.changes, await isAutomatic(signal)));
    const changed = await asResult(async () =>
      transact(
        {
          ...common,
          description: "Steward changes packages (apt-get install)",
          argv: argv(),
          before: async () => {
            await ready?.();
            await demandPlanned(words, plan, signal);
          },
          afterwards: markCommands(await marks.read(unit)),
        },
        signal,
      ),
    );
    if (changed.isDone) await marks.forget(unit);
    return changed;
  };
}

/** dpkg keeps holds in its own database, so its locks are waited for. */
export function createHolds(ports: {
  readonly transact: Transact;
  readonly paths: AptPaths;
  readonly present: () => Promise<readonly PresentPackage[]>;
}): Holds["set"] {
  const { transact, paths, present } = ports;
  return async ({ isHeld, packages }, signal) => {
    const installed = (await present()).filter(({ state }) => state !== "configuration").map(qualifiedName);
    const words = packages.map(qualifiedName);
    for (const word of words)
      if (!isPackageName(word) || !installed.includes(word)) throw new UpdateRefused(`${word} is not installed`);
    if (words.length === 0) return { isDone: true, reason: "" };
    const verb = isHeld ? "hold" : "unhold";
    const description = `Steward ${isHeld ? "holds" : "releases"} packages (apt-mark ${verb})`;
    const argv = ["/usr/bin/apt-mark", ...withoutCaches, ...withoutSources, verb, "--", ...words] as const;
    const locks = [paths.frontendLock, paths.databaseLock];
    return asResult(() => transact({ unit: `steward-apt-${verb}`, description, argv, locks }, signal));
  };
}
