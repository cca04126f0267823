import type { PackageManager } from "#domain/ports/packages.ts";
import { listNames } from "#kernel/text.ts";
import { recordsIn } from "#kernel/values.ts";
import type { Outcome } from "../check.ts";
import { commandsOf, demandManager, type Fix, remarked } from "../fix.ts";

const unfinishedIn = ({ details }: Outcome): readonly string[] =>
  recordsIn(details["unfinished"]).flatMap(({ name }) => (typeof name === "string" ? [name] : []));

/** Lets the package manager finish what was interrupted. Modified configuration files stay as they are. */
export function aptFixDpkgFix(ports: {
  readonly packages: Pick<PackageManager, "commands" | "finish"> | undefined;
}): Fix {
  const { packages } = ports;
  const { finisher, finish } = commandsOf(packages);
  return {
    id: "apt_fix_dpkg",
    summary: remarked("Finishes installations that were interrupted", finish),
    risk: "moderate",
    does: ["change_packages"],
    kind: "packages",
    endsOnFailure: true,
    // A transaction and its wait for locks.
    timeoutMs: 35 * 60_000,
    plan(found) {
      const names = unfinishedIn(found);
      if (names.length === 0 && found.details["interrupted"] !== true)
        return Promise.resolve({ steps: [], reason: "the check names no package that is not fully installed" });
      const what = names.length === 0 ? `what ${finisher} had begun` : `the installation of ${listNames(names, 10)}`;
      const step = {
        action: remarked(`finish ${what}`, finish),
        async run(signal: AbortSignal) {
          await demandManager(packages).finish(signal);
          return `${finisher} has set up what can be set up`;
        },
      };
      return Promise.resolve({ steps: [step], packages: names });
    },
  };
}
