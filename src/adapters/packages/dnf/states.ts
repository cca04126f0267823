import { CommandFailed } from "#adapters/exec/command.ts";
import type { PackageFaults, PackageVersion } from "#domain/ports/packages.ts";
import type { LockTable } from "../common/locks.ts";
import { nevraOf } from "../rpm/names.ts";
import { type Asking, type DnfPlaces, withoutRepositories } from "./asking.ts";
import type { createDatabase } from "./database.ts";
import { type CheckFindings, hasTransactions, isUnfinished, parseCheck, unfinishedIn } from "./lists.ts";
import { failureReason } from "./output.ts";

export interface Findings extends CheckFindings {
  /** Whether the last transaction has no end and something of it is not done. */
  readonly isInterrupted: boolean;
  /** Packages that the last transaction was to bring, where it has no end. */
  readonly brought: readonly PackageVersion[];
  readonly missing: readonly PackageVersion[];
  readonly remaining: readonly PackageVersion[];
}

export function createFindings({
  tryAsking,
  database,
}: Pick<Asking, "tryAsking"> & { readonly database: ReturnType<typeof createDatabase> }): (
  signal: AbortSignal,
) => Promise<Findings> {
  return async (signal) => {
    const list = await tryAsking([withoutRepositories, "history", "list"], signal);
    if (list.exitCode !== 0) throw new CommandFailed(`cannot ask dnf: ${failureReason(list.stderr, list.exitCode)}`);
    // Without any, dnf fails when it is asked for the last one.
    const last = hasTransactions(list.stdout)
      ? await tryAsking([withoutRepositories, "history", "info", "last"], signal)
      : { stdout: "", exitCode: 0, stderr: "" };
    if (last.exitCode !== 0) throw new CommandFailed(`cannot ask dnf: ${failureReason(last.stderr, last.exitCode)}`);
    const { exitCode, stdout, stderr } = await tryAsking(
      [withoutRepositories, "--disableexcludes=all", "check"],
      signal,
    );
    const found = parseCheck(stdout);
    if (exitCode !== 0 && !/^Error: Check discovered \d+ problem/m.test(stderr))
      throw new CommandFailed(`cannot ask dnf: ${failureReason(stderr, exitCode)}`);
    const { brought, removed } = isUnfinished(last.stdout) ? unfinishedIn(last.stdout) : { brought: [], removed: [] };
    const present = new Set((await database(signal)).packages.map(nevraOf));
    const missing = brought.filter((each) => !present.has(nevraOf(each)));
    const remaining = removed.filter((each) => present.has(nevraOf(each)));
    const isLeft = found.duplicates.length + missing.length + remaining.length > 0;
    return { ...found, isInterrupted: isUnfinished(last.stdout) && isLeft, brought, missing, remaining };
  };
}

/** What is wrong with the packages, asked of dnf and remembered until rpm's database or the history change. */
export function createFaults(ports: {
  readonly findings: ReturnType<typeof createFindings>;
  readonly database: ReturnType<typeof createDatabase>;
  readonly locks: Pick<LockTable, "holder">;
  readonly places: Pick<DnfPlaces, "transactionLock">;
}): (signal: AbortSignal) => Promise<PackageFaults> {
  const { findings, database, locks, places } = ports;
  let last: { readonly mark: string; readonly found: Findings } | undefined;

  return async (signal) => {
    // First who writes, then what is written: in the middle of a transaction all of it looks broken off.
    const writer = await locks.holder(places.transactionLock);
    const state = await database(signal);
    if (writer === undefined && last?.mark !== state.mark) last = { mark: state.mark, found: await findings(signal) };
    const found = writer === undefined ? last?.found : undefined;
    const duplicates = found?.duplicates ?? [];
    return {
      installed: state.packages.length,
      unfinished: [
        ...duplicates.map(({ old, kept }) => {
          const word = `left beside ${kept.version}`;
          return { name: old.name, version: old.version, state: word, mustBeReinstalled: false };
        }),
        ...(found?.missing ?? []).map(({ name, version }) => {
          return { name, version, state: "not installed yet", mustBeReinstalled: false };
        }),
        ...(found?.remaining ?? []).map(({ name, version }) => {
          return { name, version, state: "not removed yet", mustBeReinstalled: false };
        }),
      ],
      isInterrupted: found?.isInterrupted ?? false,
      unmet: found?.unmet ?? [],
      held: state.packages.filter(state.isHeld).map(({ name, version }) => ({ name, version })),
      writer,
    };
  };
}
