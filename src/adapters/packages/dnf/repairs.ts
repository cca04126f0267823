import { CommandFailed } from "#adapters/exec/command.ts";
import type { MissingPlan } from "#domain/ports/packages.ts";
import { demandSamePlan, orObstacle } from "../common/asking.ts";
import type { OnLine, Repairs } from "../common/ports.ts";
import { type Findings, leftovers } from "../common/rpm/findings.ts";
import { isPackageName, nameAndArchitecture, nevraOf } from "../common/rpm/names.ts";
import { demandNoRemoval } from "../common/rpm/offers.ts";
import { changesOf, sizesOf } from "../common/rpm/table.ts";
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
  const { brought, removed } = isUnfinished(last) ? unfinishedIn(last) : { brought: [], removed: [] };
  const present = new Set((await database(signal)).packages.map(nevraOf));
  const missing = brought.filter((each) => !present.has(nevraOf(each)));
  const remaining = removed.filter((each) => present.has(nevraOf(each)));
  const isLeft = found.duplicates.length + missing.length + remaining.length > 0;
  return { ...found, isInterrupted: isUnfinished(last) && isLeft, brought, missing, remaining };
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

async function wordsFor(dnf: Dnf, reinstalled: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  const wrong = reinstalled.find((name) => !isPackageName(name));
  if (wrong !== undefined) throw new CommandFailed(`cannot install ${wrong} again: it is not a package name`);
  if (reinstalled.length > 0) return ["reinstall", "--", ...reinstalled];
  const { unmet } = await findingsOf(dnf, signal);
  const needs = unmet.flatMap(({ needs: what }) => /^Requires: (.+)$/.exec(what)?.[1] ?? []);
  return ["--setopt=install_weak_deps=0", "install", "--", ...new Set(needs)];
}

export function createRepairs(dnf: Dnf): Repairs {
  const { database, places, transact } = dnf;
  const simulate = createSimulate(dnf);

  const change = (unit: string, description: string, words: readonly string[], signal: AbortSignal): Promise<string> =>
    transact({ unit, description, argv: changingArgv(dnf, ...words), locks: [places.transactionLock] }, signal);

  const planMissing: Repairs["planMissing"] = async (reinstalled, signal) => {
    const plan: MissingPlan = { reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: null };
    const words = await wordsFor(dnf, reinstalled, signal);
    if (words.at(-1) === "--") return { ...plan, obstacle: "nothing that could be installed would fix it" };
    const { packages } = await database(signal);
    return orObstacle(plan, async () => {
      const rows = await simulate(words, signal);
      const again = rows.filter(({ kind }) => kind === "reinstall");
      const changes = [
        ...changesOf(rows, packages),
        ...again.map(({ name, architecture, version }) => ({ name, architecture, from: version, to: version })),
      ];
      demandNoRemoval("dnf", changes);
      const { downloadBytes } = await sizesOf(askOffered(dnf), changes, packages, signal);
      return { ...plan, changes: changes.map((each) => ({ ...each, to: each.to ?? "" })), downloadBytes };
    });
  };

  return {
    async finish(signal) {
      const { isInterrupted } = await findingsOf(dnf, signal);
      const description = "Steward finishes a transaction that was interrupted (dnf history redo last)";
      if (isInterrupted) await change("steward-dnf-redo", description, ["history", "redo", "last"], signal);
      const changes = leftovers(await findingsOf(dnf, signal));
      if (changes.length > 0) await replay(dnf, { unit: "steward-dnf-duplicates", changes }, signal);
    },

    planMissing,

    async installMissing(plan, signal) {
      const { changes } = await demandSamePlan(planMissing, plan, signal);
      const unit = "steward-dnf-missing";
      if (!changes.some(({ from, to }) => from === to)) {
        await replay(dnf, { unit, changes }, signal);
        return;
      }
      const words = ["reinstall", "--", ...changes.map(nameAndArchitecture)];
      await change(unit, "Steward installs packages again (dnf reinstall)", words, signal);
    },
  };
}
