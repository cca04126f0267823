import { CommandFailed } from "#adapters/exec/command.ts";
import { type PackageChange, type PackageRepairs, UpdateRefused } from "#domain/ports/packages.ts";
import type { createTransactions } from "../common/transactions.ts";
import { isPackageName, keyOf, nevraOf } from "../rpm/names.ts";
import type { Asking, DnfPlaces } from "./asking.ts";
import type { createDatabase } from "./database.ts";
import { changing, type createReplay } from "./replay.ts";
import { changesOf, simulate, sizesOf } from "./simulation.ts";
import type { createFindings, Findings } from "./states.ts";

const described = ({ name, from, to }: { name: string; from: string | null; to: string | null }): string =>
  `${name} ${from ?? "-"} ${to ?? "-"}`;

/**
 * The versions that an interrupted transaction left beside the ones that it brought: to remove them is what it had not come
 * to. What it brought may be the older one.
 */
export const leftovers = ({
  duplicates,
  brought,
}: Pick<Findings, "duplicates" | "brought">): readonly PackageChange[] =>
  duplicates.map(({ old, kept }) => {
    const isOldBrought = brought.some((each) => nevraOf(each) === nevraOf(old));
    const { name, architecture, version } = isOldBrought ? kept : old;
    return { name, architecture, from: version, to: null, isSecurity: false };
  });

export function createRefresh(ports: {
  readonly transact: ReturnType<typeof createTransactions>;
  readonly places: DnfPlaces;
}): (onLine: ((line: string) => void) | undefined, signal: AbortSignal) => Promise<void> {
  const { transact, places } = ports;
  return async (onLine, signal) => {
    const words = [...changing, "--setopt=*.skip_if_unavailable=0", "makecache", "--refresh"];
    await transact(
      {
        unit: "steward-dnf-makecache",
        description: "Steward downloads the package lists (dnf makecache)",
        argv: [places.dnf[0], ...places.dnf.slice(1), ...words],
        locks: places.listsLocks,
        isInterruptible: true,
        ...(onLine !== undefined && { onLine }),
      },
      signal,
    );
  };
}

export function createRepairs(ports: {
  readonly asking: Asking;
  readonly database: ReturnType<typeof createDatabase>;
  readonly findings: ReturnType<typeof createFindings>;
  readonly transact: ReturnType<typeof createTransactions>;
  readonly replay: ReturnType<typeof createReplay>;
  readonly refresh: ReturnType<typeof createRefresh>;
  readonly places: DnfPlaces;
}): PackageRepairs {
  const { asking, database, findings, transact, replay, refresh, places } = ports;

  /** What dnf is told: the names of packages to be installed again, or what installed ones need. */
  const wordsFor = async (reinstalled: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
    const wrong = reinstalled.find((name) => !isPackageName(name));
    if (wrong !== undefined) throw new CommandFailed(`cannot install ${wrong} again: that is no name of a package`);
    if (reinstalled.length > 0) return ["reinstall", "--", ...reinstalled];
    const { unmet } = await findings(signal);
    const needs = unmet.flatMap(({ needs: what }) => /^Requires: (.+)$/.exec(what)?.[1] ?? []);
    return ["--setopt=install_weak_deps=0", "install", "--", ...new Set(needs)];
  };

  const planMissing: PackageRepairs["planMissing"] = async (reinstalled, signal) => {
    const plan = { reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: null };
    const words = await wordsFor(reinstalled, signal);
    if (words.at(-1) === "--") return { ...plan, obstacle: "nothing that could be installed would mend it" };
    const { packages } = await database(signal);
    try {
      const rows = await simulate(asking, words, signal);
      const again = rows.filter(({ kind }) => kind === "reinstall");
      const changes = [
        ...changesOf(rows, packages),
        ...again.map(({ name, architecture, version }) => ({ name, architecture, from: version, to: version })),
      ];
      const removed = changes.filter(({ to }) => to === null).map(({ name }) => name);
      if (removed.length > 0) return { ...plan, obstacle: `dnf would have to remove ${removed.join(", ")}` };
      const { downloadBytes } = await sizesOf(asking, changes, packages, signal);
      return { ...plan, changes: changes.map((change) => ({ ...change, to: change.to ?? "" })), downloadBytes };
    } catch (error) {
      if (error instanceof UpdateRefused) return { ...plan, obstacle: error.message };
      throw error;
    }
  };

  return {
    async finish(signal) {
      const before = await findings(signal);
      if (before.isInterrupted) {
        const argv = [...changing, "history", "redo", "last"];
        await transact(
          {
            unit: "steward-dnf-redo",
            description: "Steward finishes a transaction that was interrupted (dnf history redo last)",
            argv: [places.dnf[0], ...places.dnf.slice(1), ...argv],
            locks: [places.transactionLock],
          },
          signal,
        );
      }
      const changes = leftovers(await findings(signal));
      const { packages } = await database(signal);
      if (changes.length > 0) await replay({ unit: "steward-dnf-duplicates", changes, installed: packages }, signal);
    },

    planMissing,

    async installMissing(plan, signal) {
      const now = await planMissing(plan.reinstalled, signal);
      if (now.obstacle !== null) throw new CommandFailed(now.obstacle);
      if (now.changes.map(described).join() !== plan.changes.map(described).join())
        throw new CommandFailed(
          `what has to be installed has changed meanwhile to ${now.changes.map(nameAndVersion).join(", ") || "nothing"}: look at it and try again`,
        );
      const { packages } = await database(signal);
      const changes = now.changes.map((change) => ({ ...change, isSecurity: false }));
      const isAgain = changes.some(({ from, to }) => from === to);
      if (!isAgain) {
        await replay({ unit: "steward-dnf-missing", changes, installed: packages }, signal);
        return;
      }
      const names = changes.map(keyOf);
      await transact(
        {
          unit: "steward-dnf-missing",
          description: "Steward installs packages again (dnf reinstall)",
          argv: [places.dnf[0], ...places.dnf.slice(1), ...changing, "reinstall", "--", ...names],
          locks: [places.transactionLock],
        },
        signal,
      );
    },

    refreshLists: (signal) => refresh(undefined, signal),
  };
}

const nameAndVersion = ({ name, to }: { name: string; to: string }): string => `${name} ${to}`;
