import { CommandFailed } from "#adapters/exec/command.ts";
import type { MissingPlan, PackageRepairs } from "#domain/ports/packages.ts";
import { demandSamePlan, orObstacle } from "../common/asking.ts";
import type { OnLine } from "../common/ports.ts";
import { type Findings, toFindings } from "../common/rpm/findings.ts";
import { isPackageName, nameAndArchitecture } from "../common/rpm/names.ts";
import { demandNoRemoval } from "../common/rpm/offers.ts";
import type { Dnf } from "./dialect.ts";
import { changesOf, simulate, sizesOf } from "./plans.ts";
import { replay } from "./replay.ts";

export async function findingsOf(dnf: Dnf, signal: AbortSignal): Promise<Findings> {
  const { dialect, tryAsking, database, cannotAsk } = dnf;
  const unfinished = await dialect.unfinished(dnf, signal);
  const check = await tryAsking([dialect.withoutRepositories, ...dialect.checking], signal);
  if (check.exitCode !== 0 && !/^(?:Error: )?Check discovered \d+ problem/m.test(check.stderr)) throw cannotAsk(check);
  return toFindings(dialect.parseCheck(check.stdout), unfinished, await database(signal));
}

export async function refresh({ dialect, places, transact, changingArgv }: Dnf, onLine: OnLine, signal: AbortSignal) {
  const transaction = {
    unit: "steward-dnf-makecache",
    description: `Steward downloads the package lists (${dialect.name} makecache)`,
    argv: changingArgv("--setopt=*.skip_if_unavailable=0", ...dialect.refreshing),
    locks: places.listsLocks,
    isInterruptible: true,
    onLine,
  };
  await transact(transaction, signal);
}

const unit = "steward-dnf-missing";

export function createRepairs(dnf: Dnf): PackageRepairs {
  const { dialect, database, places, transact, changingArgv } = dnf;

  const wordsFor = async (reinstalled: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
    const wrong = reinstalled.find((name) => !isPackageName(name));
    if (wrong !== undefined) throw new CommandFailed(`cannot install ${wrong} again: it is not a package name`);
    if (reinstalled.length > 0) return ["reinstall", "--", ...reinstalled];
    const { unmet } = await findingsOf(dnf, signal);
    const needs = unmet.flatMap(({ needs: what }) => /^Requires: (.+)$/.exec(what)?.[1] ?? []);
    return ["--setopt=install_weak_deps=0", "install", "--", ...new Set(needs)];
  };

  const planMissing: PackageRepairs["planMissing"] = async (reinstalled, signal) => {
    const plan: MissingPlan = { reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: null };
    const words = await wordsFor(reinstalled, signal);
    if (words.at(-1) === "--") return { ...plan, obstacle: "nothing that could be installed would fix it" };
    const { packages } = await database(signal);
    return orObstacle(plan, async () => {
      const rows = await simulate(dnf, words, signal);
      const again = rows.filter(({ kind }) => kind === "reinstall");
      const changes = [
        ...changesOf(rows, packages),
        ...again.map(({ name, architecture, version }) => ({ name, architecture, from: version, to: version })),
      ];
      demandNoRemoval("dnf", changes);
      const { downloadBytes } = await sizesOf(dnf, changes, packages, signal);
      return { ...plan, changes: changes.map((each) => ({ ...each, to: each.to ?? "" })), downloadBytes };
    });
  };

  return {
    finish: (signal) => dialect.finish(dnf, signal),
    planMissing,

    async installMissing(plan, signal) {
      const { changes } = await demandSamePlan(planMissing, plan, signal);
      if (changes.every(({ from, to }) => from !== to)) {
        await replay(dnf, { unit, changes }, signal);
        return;
      }
      const description = `Steward installs packages again (${dialect.name} reinstall)`;
      const argv = changingArgv("reinstall", "--", ...changes.map(nameAndArchitecture));
      await transact({ unit, description, argv, locks: places.changeLocks }, signal);
    },
  };
}

/** Locks packages at their installed versions, or takes away their locks. No list is needed for that. */
export async function setVersionLocks(
  dnf: Dnf,
  { names, isHeld }: { readonly names: readonly string[]; readonly isHeld: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { dialect, places, transact, changingArgv } = dnf;
  const words = isHeld ? names : await dialect.lockWords(dnf, names, signal);
  if (words.length === 0) return;
  const verb = isHeld ? "add" : "delete";
  const description = `Steward ${isHeld ? "holds" : "releases"} packages (${dialect.name} versionlock ${verb})`;
  const argv = changingArgv("--cacheonly", dialect.withoutRepositories, "versionlock", verb, ...words);
  await transact({ unit: `steward-dnf-versionlock-${verb}`, description, argv, locks: places.changeLocks }, signal);
}
