import type { PackageVersion } from "#domain/ports/packages.ts";
import { type PlainChange, removalOf } from "../common/changes.ts";
import type { OnLine, Repairs } from "../common/ports.ts";
import { type Findings, leftovers, toFindings } from "../common/rpm/findings.ts";
import { createMissing } from "../common/rpm/missing.ts";
import { nameAndArchitecture, nevraOf } from "../common/rpm/names.ts";
import { parseCheck, parseHistory, parseTransaction, type Transaction } from "./answers.ts";
import { cannotAsk, type Dnf5, isAutomatic, withoutRepositories } from "./host.ts";
import { changingArgv, replay } from "./replay.ts";
import { askOffered, createSimulate } from "./simulation.ts";

const historyOf = async ({ ask }: Pick<Dnf5, "ask">, signal: AbortSignal) =>
  parseHistory(await ask([withoutRepositories, "history", "list", "--json"], signal));

const transactionOf = async ({ ask }: Pick<Dnf5, "ask">, id: number, signal: AbortSignal) =>
  parseTransaction(await ask([withoutRepositories, "history", "info", String(id), "--json"], signal));

/** The last transaction, if it was begun and has no end. */
async function unfinishedOf(dnf5: Dnf5, signal: AbortSignal): Promise<Transaction | undefined> {
  const [last] = await historyOf(dnf5, signal);
  return last?.isUnfinished === true ? transactionOf(dnf5, last.id, signal) : undefined;
}

export async function findingsOf(dnf5: Dnf5, signal: AbortSignal): Promise<Findings> {
  const unfinished = await unfinishedOf(dnf5, signal);
  const check = await dnf5.tryAsking([withoutRepositories, "check"], signal);
  if (check.exitCode !== 0 && !/^Check discovered \d+ problem/m.test(check.stderr)) throw cannotAsk(check);
  return toFindings(parseCheck(check.stdout), unfinished, await dnf5.database(signal));
}

/** What is left of a transaction to be done. @param older versions that are there, of what it was to bring. */
export function restOf(found: Findings, older: readonly PackageVersion[]): readonly PlainChange[] {
  const coming = found.missing.map((each): PlainChange => {
    const { name, architecture, version } = each;
    const from = older.find((other) => nameAndArchitecture(other) === nameAndArchitecture(each));
    return { name, architecture, from: from?.version ?? null, to: version };
  });
  return [...leftovers(found), ...coming, ...found.remaining.map(removalOf)];
}

/** Dnf5 writes down at the end who asked for a package. What a transaction brought that was killed before, nobody did then. */
export async function restoreReasons(dnf5: Dnf5, unit: string, signal: AbortSignal): Promise<void> {
  const unfinished = (await historyOf(dnf5, signal)).slice(0, 5).find(({ isUnfinished }) => isUnfinished);
  if (unfinished === undefined) return;
  const { brought } = await transactionOf(dnf5, unfinished.id, signal);
  const dependencies = new Set(brought.filter(isAutomatic).map(nevraOf));
  const { packages } = await dnf5.database(signal);
  const lost = packages.filter((each) => each.reason === "External User" && dependencies.has(nevraOf(each)));
  if (lost.length === 0) return;
  const description = "Steward marks what a transaction brought that was interrupted (dnf5 mark)";
  const argv = changingArgv(dnf5, withoutRepositories, "mark", "dependency", "--", ...lost.map(nevraOf));
  await dnf5.transact({ unit, description, argv, locks: [dnf5.places.transactionLock] }, signal);
}

export async function refresh(dnf5: Dnf5, onLine: OnLine, signal: AbortSignal): Promise<void> {
  // Its `--refresh` takes lists of some hours ago for fresh.
  const words = ["--setopt=*.skip_if_unavailable=0", "--setopt=*.metadata_expire=0", "makecache"];
  const transaction = {
    unit: "steward-dnf-makecache",
    description: "Steward downloads the package lists (dnf5 makecache)",
    argv: changingArgv(dnf5, ...words),
    locks: [dnf5.places.transactionLock],
    isInterruptible: true,
    onLine,
  };
  await dnf5.transact(transaction, signal);
}

export function createRepairs(dnf5: Dnf5): Repairs {
  const { database, places, transact } = dnf5;
  return {
    async finish(signal) {
      const unit = "steward-dnf-finish";
      const { packages } = await database(signal);
      const present = new Set(packages.map(nevraOf));
      const replaced = (await unfinishedOf(dnf5, signal))?.replaced ?? [];
      const older = replaced.filter((each) => present.has(nevraOf(each)));
      const changes = restOf(await findingsOf(dnf5, signal), older);
      if (changes.length > 0) await replay(dnf5, { unit, changes }, signal);
      await restoreReasons(dnf5, unit, signal);
    },

    ...createMissing({
      findings: (signal) => findingsOf(dnf5, signal),
      database,
      simulate: createSimulate(dnf5),
      askOffered: askOffered(dnf5),
      change: (unit, changes, signal) => replay(dnf5, { unit, changes }, signal),
      reinstall: (unit, words, signal) => {
        const description = "Steward installs packages again (dnf5 reinstall)";
        return transact(
          { unit, description, argv: changingArgv(dnf5, ...words), locks: [places.transactionLock, places.systemLock] },
          signal,
        );
      },
    }),
  };
}
