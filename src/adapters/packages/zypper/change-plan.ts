import type { PackageVersion } from "#domain/ports/packages.ts";
import type { PlannedChange } from "../common/rpm/change-plan.ts";
import { type Wanted, wordOf } from "../common/rpm/names.ts";
import type { Zypper } from "./host.ts";
import { simulate } from "./simulation.ts";
import { operandOf } from "./transaction.ts";

/** Plans that packages come or go. */
export function createPlans({ tryAsking, tryInstalled }: Pick<Zypper, "tryAsking" | "tryInstalled">) {
  const planned = async (
    ask: Zypper["tryAsking"],
    words: readonly string[],
    signal: AbortSignal,
  ): Promise<PlannedChange> => {
    const { changes, ...sizes } = await simulate(ask, words, signal);
    return { changes, sizes: () => Promise.resolve(sizes) };
  };
  return {
    planInstall: (wanted: readonly Wanted[], mayErase: boolean, _: unknown, signal: AbortSignal) => {
      const resolution = mayErase ? "--force-resolution" : "--no-force-resolution";
      return planned(tryAsking, ["install", "--name", resolution, "--", ...wanted.map(wordOf)], signal);
    },
    planRemoval: (packages: readonly PackageVersion[], _: unknown, signal: AbortSignal) =>
      planned(tryInstalled, ["remove", "--no-clean-deps", "--", ...packages.map(operandOf)], signal),
  };
}
