import type { OnLine, Repairs } from "../common/ports.ts";
import { type Findings, leftovers, toFindings } from "../common/rpm/findings.ts";
import { createMissing } from "../common/rpm/missing.ts";
import { cannotAsk, type Dnf, withoutRepositories } from "./host.ts";
import { hasTransactions, isUnfinished, parseCheck, unfinishedIn } from "./lists.ts";
import { changingArgv, replay } from "./replay.ts";
import { askOffered, createSimulate } from "./simulation.ts";

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
  return toFindings(found, isUnfinished(last) ? unfinishedIn(last) : undefined, await database(signal));
}

export async function refresh(dnf: Dnf, onLine: OnLine, signal: AbortSignal): Promise<void> {
  const transaction = {
    unit: "steward-dnf-makecache",
    description: "Steward downloads the package lists (dnf makecache)",
    argv: changingArgv(dnf, "--setopt=*.skip_if_unavailable=0", "makecache", "--refresh"),
    locks: dnf.places.listsLocks,
    isInterruptible: true,
    onLine,
  };
  await dnf.transact(transaction, signal);
}

export function createRepairs(dnf: Dnf): Repairs {
  const { database, places, transact } = dnf;

  const change = (unit: string, description: string, words: readonly string[], signal: AbortSignal): Promise<string> =>
    transact({ unit, description, argv: changingArgv(dnf, ...words), locks: [places.transactionLock] }, signal);

  return {
    async finish(signal) {
      const { isInterrupted } = await findingsOf(dnf, signal);
      const description = "Steward finishes a transaction that was interrupted (dnf history redo last)";
      if (isInterrupted) await change("steward-dnf-redo", description, ["history", "redo", "last"], signal);
      const changes = leftovers(await findingsOf(dnf, signal));
      if (changes.length > 0) await replay(dnf, { unit: "steward-dnf-duplicates", changes }, signal);
    },

    ...createMissing({
      findings: (signal) => findingsOf(dnf, signal),
      database,
      simulate: createSimulate(dnf),
      askOffered: askOffered(dnf),
      change: (unit, changes, signal) => replay(dnf, { unit, changes }, signal),
      reinstall: (unit, words, signal) =>
        change(unit, "Steward installs packages again (dnf reinstall)", words, signal),
    }),
  };
}
