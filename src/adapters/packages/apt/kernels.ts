import {
  type InstalledPackage,
  noChanges,
  type OldKernels,
  qualifiedName,
  type TransactionPlan,
  UpdateRefused,
} from "#domain/ports/packages.ts";
import { oldKernelPackages } from "#domain/updates/kernel-packages.ts";
import { areSame, demandSame } from "../common/changes.ts";
import { type Transact, unitFor } from "../common/transactions.ts";
import { type AptPaths, argumentsFor, toArguments } from "./arguments.ts";
import type { Simulate } from "./plan.ts";
import { byName } from "./simulation.ts";

/** Of old kernels those that `apt-get autoremove` would remove: it knows what is needed, and `APT::NeverAutoRemove`. */
export function createOldKernels(ports: {
  readonly simulate: Pick<Simulate, "changes" | "planWords">;
  readonly transact: Transact;
  readonly paths: Pick<AptPaths, "frontendLock" | "databaseLock">;
  readonly installed: () => Promise<readonly InstalledPackage[]>;
  readonly running: string;
}): OldKernels & { readonly addTo: (plan: TransactionPlan, signal: AbortSignal) => Promise<TransactionPlan> } {
  const { simulate, transact, paths, installed, running } = ports;

  const findPlan: OldKernels["plan"] = async (signal) => {
    const old = new Set(oldKernelPackages(await installed(), running).map(qualifiedName));
    if (old.size === 0) return noChanges;
    const all = await simulate.changes({ options: [], verb: "autoremove", operands: [] }, signal);
    const unneeded = all.filter((each) => each.to === null && old.has(qualifiedName(each)));
    if (unneeded.length === 0) return noChanges;
    const plan = await simulate.planWords(argumentsFor(unneeded), signal);
    return areSame(plan.changes, unneeded) ? plan : noChanges;
  };

  return {
    plan: findPlan,

    /** To one transaction, where apt makes just these changes. What they free is not there before they are gone. */
    async addTo(plan, signal) {
      const old = await findPlan(signal);
      if (old.changes.length === 0) return plan;
      if (plan.changes.length === 0) return old;
      const changes = [...plan.changes, ...old.changes].sort(byName);
      const together = await simulate.changes(argumentsFor(changes), signal).catch((error: unknown) => {
        if (error instanceof UpdateRefused) return [];
        throw error;
      });
      return areSame(together, changes) ? { ...plan, changes } : plan;
    },

    async remove(plan, signal) {
      const words = argumentsFor(plan.changes);
      const before = async (): Promise<void> => demandSame(await simulate.changes(words, signal), plan.changes);
      const argv = ["/usr/bin/apt-get", ...toArguments(words)] as const;
      const description = "Steward removes old kernels (apt-get install with names to remove)";
      const locks = [paths.frontendLock, paths.databaseLock];
      await transact({ unit: unitFor("old-kernels"), description, argv, locks, before }, signal);
    },
  };
}
