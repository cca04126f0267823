import type { MissingPlan, PackageManager } from "#domain/ports/packages.ts";
import { formatBytes, listNames } from "#kernel/text.ts";
import type { Outcome } from "../check.ts";
import { commandsOf, demandManager, type Fix, type FixStep, namedInSteps, remarked } from "../fix.ts";

function faultsIn({ details }: Outcome): { readonly reinstalled: readonly string[]; readonly isUnmet: boolean } {
  const { reinstall, unmet_dependencies: unmet } = details;
  return {
    reinstalled: Array.isArray(reinstall) ? reinstall.filter((name) => typeof name === "string") : [],
    isUnmet: Array.isArray(unmet) && unmet.length > 0,
  };
}

const describeChange = ({ name, from, to }: MissingPlan["changes"][number]): string => {
  if (from === null) return `install ${name} ${to}`;
  return from === to ? `install ${name} ${to} again` : `update ${name} from ${from} to ${to}`;
};

const onlySetUp = ({ changes, configured }: MissingPlan): readonly string[] =>
  configured.filter((name) => !changes.some((change) => change.name === name));

/** Installs the packages that a simulation names. It never removes one; where nothing else would help, it says so. */
export function aptFixDependenciesFix(ports: {
  readonly packages: Pick<PackageManager, "commands" | "repairs"> | undefined;
}): Fix {
  const { packages } = ports;
  const { installMissing } = commandsOf(packages);

  const stepFor = (plan: MissingPlan): FixStep => {
    const changes = plan.changes.map(describeChange);
    const ready = onlySetUp(plan);
    const setUp = ready.length === 0 ? [] : [`set up ${listNames(ready, namedInSteps)}`];
    return {
      action: remarked(
        [listNames(changes, namedInSteps), ...setUp].filter((each) => each !== "").join(", "),
        installMissing,
        "removing nothing",
      ),
      async run(signal) {
        await demandManager(packages).repairs.installMissing(plan, signal);
        const bytes = plan.downloadBytes === 0 ? "nothing" : formatBytes(plan.downloadBytes);
        return `Done: ${changes.length} installed or updated, ${ready.length} set up, ${bytes} downloaded`;
      },
    };
  };

  return {
    id: "apt_fix_dependencies",
    summary: remarked("Installs the packages that installed ones need", installMissing),
    risk: "risky",
    alsoNeeds: ["updates:apply"],
    kind: "packages",
    endsOnFailure: true,
    timeoutMs: 35 * 60_000,
    async plan(found, signal) {
      const { reinstalled, isUnmet } = faultsIn(found);
      if (reinstalled.length === 0 && !isUnmet) return { steps: [], reason: "the check names no missing dependency" };
      const plan = await demandManager(packages).repairs.planMissing(reinstalled, signal);
      if (plan.obstacle !== null) return { steps: [], reason: plan.obstacle };
      if (plan.changes.length === 0 && plan.configured.length === 0)
        return { steps: [], reason: "the package manager knows of nothing that would repair it" };
      const names = new Set([...plan.changes.map(({ name }) => name), ...plan.configured]);
      const digested = [...plan.changes.map(describeChange), ...onlySetUp(plan).map((name) => `set up ${name}`)];
      return { steps: [stepFor(plan)], digested, packages: [...names], downloadBytes: plan.downloadBytes };
    },
  };
}
