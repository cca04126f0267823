import { counted, formatBytes, listNames } from "#kernel/text.ts";
import { recordsIn } from "#kernel/values.ts";
import type { Outcome } from "../check.ts";
import { type Fix, type FixStep, namedInSteps, type OnOperation } from "../fix.ts";

export interface SecurityPlan {
  readonly packages: readonly string[];
  /** Of each package, with versions. */
  readonly changes: readonly string[];
  readonly downloadBytes: number;
  readonly isGuarded: boolean;
}

export interface SecurityUpdater {
  /** What it would install. @throws Error with the reason when it cannot. */
  readonly plan: (names: readonly string[], signal: AbortSignal) => Promise<SecurityPlan>;
  /**
   * Installs the packages in an operation.
   * @returns a message for people.
   * @throws Error when it was not done: nothing is where that would be anything but the planned changes.
   */
  readonly apply: (
    names: readonly string[],
    planned: Pick<SecurityPlan, "changes">,
    signal: AbortSignal,
    onOperation?: OnOperation,
  ) => Promise<string>;
}

/** For slow connections; the operation continues after that. */
const timeoutMs = 60 * 60_000;

function updatableNames({ details }: Outcome): readonly string[] {
  const names = recordsIn(details["updates"]).flatMap(({ name, held }) =>
    typeof name === "string" && held === false ? [name] : [],
  );
  return [...new Set(names)];
}

export function applySecurityUpdatesFix({ security }: { security: SecurityUpdater }): Fix {
  return {
    id: "apply_security_updates",
    summary:
      "Installs the security updates that are pending, behind a snapshot, and returns to it when the host is worse afterwards",
    risk: "moderate",
    alsoNeeds: ["updates:apply"],
    kind: "packages",
    endsOnFailure: true,
    timeoutMs,
    async plan(found, signal) {
      const names = updatableNames(found);
      if (names.length === 0) return { steps: [], reason: "the updates that are pending are of held packages" };
      const planned = await security.plan(names, signal);
      const { packages, changes, downloadBytes, isGuarded } = planned;
      if (packages.length === 0) return { steps: [], reason: "they are already installed" };
      const way = isGuarded ? ["behind a snapshot, and return to it when the host is worse afterwards"] : [];
      const behind = way.map((each) => `, ${each}`).join("");
      const size = downloadBytes === 0 ? "" : ` (${formatBytes(downloadBytes)})`;
      const named = changes.map((change) => change.replace(/^update /, ""));
      const what = `${counted(packages.length, "security update")}${size}: ${listNames(named, namedInSteps)}`;
      const run: FixStep["run"] = (during, onOperation) => security.apply(names, planned, during, onOperation);
      const step = { action: `install ${what}${behind}`, run };
      return { steps: [step], digested: [...changes, ...way], packages, downloadBytes };
    },
  };
}
