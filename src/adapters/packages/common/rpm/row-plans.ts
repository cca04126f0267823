import type { PackageVersion, UpdateRequest } from "#domain/ports/packages.ts";
import type { PlannedChange } from "./change-plan.ts";
import { nevraOf, type Wanted, wordOf } from "./names.ts";
import type { InstalledRpm } from "./queries.ts";
import { type Asking, changesOf, checked, type Simulate, sizesOf, type TableRow, upgradeRows } from "./table.ts";

/** The newest version is installed, or none. */
const installWords = (wanted: readonly Wanted[], mayErase: boolean): readonly string[] => [
  "install",
  "--best",
  ...(mayErase ? ["--allowerasing"] : []),
  "--",
  ...wanted.map(wordOf),
];

/** What nothing needs afterwards stays, whatever the settings say. */
const removeWords = (packages: readonly PackageVersion[]): readonly string[] => [
  "--setopt=clean_requirements_on_remove=0",
  "remove",
  "--",
  ...packages.map(checked),
];

interface State {
  readonly packages: readonly InstalledRpm[];
}

/** Plans by the table that every dnf shows. @param host.ask for sizes of what would come. */
export function createRowPlans(host: {
  readonly simulate: Simulate;
  readonly ask: Asking;
  readonly withoutRepositories: string;
}) {
  const planned = (rows: readonly TableRow[], { packages }: State, signal: AbortSignal): PlannedChange => {
    const changes = changesOf(rows, packages);
    return { changes, sizes: () => sizesOf(host.ask, changes, packages, signal) };
  };
  return {
    async plan(
      request: UpdateRequest,
      wanted: readonly PackageVersion[],
      state: State,
      signal: AbortSignal,
    ): Promise<PlannedChange & { readonly removals: PlannedChange["changes"] }> {
      const operands = request.isSecurityOnly ? wanted.map(nevraOf) : (request.names ?? []);
      const update = planned(await upgradeRows(host.simulate, request, operands, signal), state, signal);
      return { ...update, removals: update.changes };
    },
    planInstall: async (wanted: readonly Wanted[], mayErase: boolean, state: State, signal: AbortSignal) =>
      planned(await host.simulate(installWords(wanted, mayErase), signal), state, signal),
    planRemoval: async (packages: readonly PackageVersion[], state: State, signal: AbortSignal) =>
      planned(await host.simulate([host.withoutRepositories, ...removeWords(packages)], signal), state, signal),
  };
}
