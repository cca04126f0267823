import type { PackageManager } from "#domain/ports/packages.ts";
import { listNames } from "#kernel/text.ts";
import { recordsIn } from "#kernel/values.ts";
import type { Outcome } from "../check.ts";
import { commandsOf, demandManager, type Fix, namedInSteps, remarked } from "../fix.ts";

const unfinishedIn = ({ details }: Outcome): readonly { readonly name: string; readonly version: string }[] =>
  recordsIn(details["unfinished"]).flatMap(({ name, version }) =>
    typeof name === "string" ? [{ name, version: typeof version === "string" ? version : "" }] : [],
  );

/** Lets the package manager finish what was interrupted. Modified configuration files stay as they are. */
export function aptFixDpkgFix(ports: {
  readonly packages: Pick<PackageManager, "commands" | "repairs"> | undefined;
}): Fix {
  const { packages } = ports;
  const { finisher, finish } = commandsOf(packages);
  return {
    id: "apt_fix_dpkg",
    summary: remarked("Finishes installations that were interrupted", finish),
    risk: "moderate",
    alsoNeeds: ["updates:apply"],
    kind: "packages",
    endsOnFailure: true,
    // A transaction and its wait for locks.
    timeoutMs: 35 * 60_000,
    plan(found) {
      const unfinished = unfinishedIn(found);
      const names = unfinished.map(({ name }) => name);
      if (names.length === 0 && found.details["interrupted"] !== true)
        return Promise.resolve({ steps: [], reason: "the check names no package that is not fully installed" });
      const versions = unfinished.map(({ name, version }) => `${name} ${version}`.trim());
      const what =
        names.length === 0
          ? `what ${finisher} has started`
          : `the installation of ${listNames(versions, namedInSteps)}`;
      const step = {
        action: remarked(`finish ${what}`, finish),
        async run(signal: AbortSignal) {
          await demandManager(packages).repairs.finish(signal);
          return `${finisher} has set up what can be set up`;
        },
      };
      if (names.length === 0) return Promise.resolve({ steps: [step] });
      const digested = versions.map((each) => `finish the installation of ${each}`);
      return Promise.resolve({ steps: [step], digested, packages: names });
    },
  };
}
