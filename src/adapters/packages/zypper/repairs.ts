import type { MissingPlan } from "#domain/ports/packages.ts";
import { demandSamePlan, orObstacle } from "../common/asking.ts";
import type { PlainChange } from "../common/changes.ts";
import type { Asks, OnLine, Repairs } from "../common/ports.ts";
import { demandLists, demandNoRemoval } from "../rpm/offers.ts";
import type { Zypper } from "./host.ts";
import { simulate } from "./simulation.ts";
import type { Findings } from "./states.ts";
import { makeChanges } from "./transaction.ts";

export const leftovers = ({ duplicates }: Pick<Findings, "duplicates">): readonly PlainChange[] =>
  duplicates.map(({ old: { name, architecture, version } }) => ({ name, architecture, from: version, to: null }));

export async function refresh({ transact, places }: Zypper, onLine: OnLine, signal: AbortSignal): Promise<void> {
  const transaction = {
    unit: "steward-zypper-refresh",
    description: "Steward downloads the package lists (zypper refresh)",
    argv: [...places.zypper, "--non-interactive", "--xmlout", "refresh"],
    locks: [places.lock],
    isInterruptible: true,
    onLine,
  } as const;
  await transact(transaction, signal);
}

export function createRepairs(zypper: Zypper, findings: Asks<Findings>): Repairs {
  const planMissing: Repairs["planMissing"] = async (reinstalled, signal) => {
    const plan: MissingPlan = { reinstalled, changes: [], configured: [], downloadBytes: 0, obstacle: null };
    if (reinstalled.length > 0)
      return { ...plan, obstacle: "zypper knows of no package that is only partly installed" };
    const simulated = simulate(zypper.tryAsking, ["verify", "--no-recommends"], signal);
    return orObstacle(plan, async () => {
      const { changes, downloadBytes } = await demandLists(simulated);
      demandNoRemoval("zypper", changes);
      if (changes.length === 0) return { ...plan, obstacle: "nothing that could be installed would mend it" };
      return { ...plan, changes: changes.map((each) => ({ ...each, to: each.to ?? "" })), downloadBytes };
    });
  };

  return {
    async finish(signal) {
      const changes = leftovers(await findings(signal));
      if (changes.length > 0) await makeChanges(zypper, { unit: "steward-zypper-leftovers", changes }, signal);
    },

    planMissing,

    async installMissing(plan, signal) {
      const { changes } = await demandSamePlan(planMissing, plan, signal);
      await makeChanges(zypper, { unit: "steward-zypper-missing", changes }, signal);
    },
  };
}
