import { counted, formatBytes, listNames } from "#kernel/text.ts";
import { recordsIn } from "#kernel/values.ts";
import type { Outcome } from "../check.ts";
import type { Fix, FixStep, OnOperation } from "../fix.ts";

export interface SecurityUpdater {
  /** What it would install. @throws Error with the reason when it cannot. */
  readonly plan: (
    names: readonly string[],
    signal: AbortSignal,
  ) => Promise<{ readonly packages: readonly string[]; readonly downloadBytes: number; readonly isGuarded: boolean }>;
  /** Installs the packages in an operation. @returns a message for people. @throws Error when it was not done. */
  readonly apply: (names: readonly string[], signal: AbortSignal, onOperation?: OnOperation) => Promise<string>;
}

/** For slow connections; the operation goes on after that. */
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
    does: ["change_packages", "change_snapshots", "undo_update"],
    kind: "packages",
    endsOnFailure: true,
    timeoutMs,
    async plan(found, signal) {
      const names = updatableNames(found);
      if (names.length === 0) return { steps: [], reason: "the updates that are pending are of held packages" };
      const { packages, downloadBytes, isGuarded } = await security.plan(names, signal);
      if (packages.length === 0) return { steps: [], reason: "they are installed by now" };
      const behind = isGuarded ? ", behind a snapshot, and return to it when the host is worse afterwards" : "";
      const size = downloadBytes === 0 ? "" : ` (${formatBytes(downloadBytes)})`;
      const what = `${counted(packages.length, "security update")}${size}: ${listNames(packages)}`;
      const run: FixStep["run"] = (during, onOperation) => security.apply(names, during, onOperation);
      const step = { action: `install ${what}${behind}`, run };
      return { steps: [step], packages, downloadBytes };
    },
  };
}
