import { CommandFailed } from "#adapters/exec/command.ts";
import type { MissingPlan } from "#domain/ports/packages.ts";
import { demandSamePlan, orObstacle } from "../asking.ts";
import type { PlainChange } from "../changes.ts";
import type { Asks, Repairs } from "../ports.ts";
import type { Findings } from "./findings.ts";
import { isPackageName, nameAndArchitecture } from "./names.ts";
import { demandNoRemoval } from "./offers.ts";
import type { InstalledRpm } from "./queries.ts";
import { type Asking, changesOf, type Simulate, sizesOf } from "./table.ts";

const unit = "steward-dnf-missing";

/** Installs what installed packages lack, as every dnf does. */
export function createMissing(host: {
  readonly findings: Asks<Pick<Findings, "unmet">>;
  readonly database: Asks<{ readonly packages: readonly InstalledRpm[] }>;
  readonly simulate: Simulate;
  readonly askOffered: Asking;
  readonly change: (unit: string, changes: readonly PlainChange[], signal: AbortSignal) => Promise<unknown>;
  readonly reinstall: (unit: string, words: readonly string[], signal: AbortSignal) => Promise<unknown>;
}): Pick<Repairs, "planMissing" | "installMissing"> {
  const wordsFor = async (reinstalled: readonly string[], signal: AbortSignal): Promise<readonly string[]> => {
    const wrong = reinstalled.find((name) => !isPackageName(name));
    if (wrong !== undefined) throw new CommandFailed(`cannot install ${wrong} again: it is not a package name`);
    if (reinstalled.length > 0) return ["reinstall", "--", ...reinstalled];
    const { unmet } = await host.findings(signal);
    const needs = unmet.flatMap(({ needs: what }) => /^Requires: (.+)$/.exec(what)?.[1] ?? []);
    return ["--setopt=install_weak_deps=0", "install", "--", ...new Set(needs)];
  };

  const planMissing: Repairs["planMissing"] = async (reinstalled, signal) => {
    const plan: MissingPlan = { reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: null };
    const words = await wordsFor(reinstalled, signal);
    if (words.at(-1) === "--") return { ...plan, obstacle: "nothing that could be installed would fix it" };
    const { packages } = await host.database(signal);
    return orObstacle(plan, async () => {
      const rows = await host.simulate(words, signal);
      const again = rows.filter(({ kind }) => kind === "reinstall");
      const changes = [
        ...changesOf(rows, packages),
        ...again.map(({ name, architecture, version }) => ({ name, architecture, from: version, to: version })),
      ];
      demandNoRemoval("dnf", changes);
      const { downloadBytes } = await sizesOf(host.askOffered, changes, packages, signal);
      return { ...plan, changes: changes.map((each) => ({ ...each, to: each.to ?? "" })), downloadBytes };
    });
  };

  return {
    planMissing,

    async installMissing(plan, signal) {
      const { changes } = await demandSamePlan(planMissing, plan, signal);
      if (changes.some(({ from, to }) => from === to))
        await host.reinstall(unit, ["reinstall", "--", ...changes.map(nameAndArchitecture)], signal);
      else await host.change(unit, changes, signal);
    },
  };
}
