import type { PackageRepairs, PackageStates } from "#domain/ports/packages.ts";
import { listNames } from "#kernel/text.ts";
import { recordsIn } from "#kernel/values.ts";
import type { Outcome } from "../check.ts";
import type { Fix } from "../fix.ts";
import { remarked, wordsOf } from "../manager-words.ts";

/** Packages that the check found not fully installed. */
function unfinishedIn({ details }: Outcome): readonly string[] {
  return recordsIn(details["unfinished"]).flatMap(({ name }) => (typeof name === "string" ? [name] : []));
}

/**
 * Lets the package manager finish what it began. Settings files that somebody changed stay as they are. The id is of the
 * first manager that had it.
 */
export function aptFixDpkgFix({
  repairs,
  packages,
}: {
  readonly repairs: Pick<PackageRepairs, "finish">;
  readonly packages: Pick<PackageStates, "manager">;
}): Fix {
  const { finisher, finish } = wordsOf(packages.manager);
  return {
    id: "apt_fix_dpkg",
    summary: remarked("Finishes installations that were interrupted", finish),
    risk: "moderate",
    does: ["change_packages"],
    kind: "packages",
    endsOnFailure: true,
    // Longer than a single transaction and its wait for locks may take.
    timeoutMs: 35 * 60_000,
    plan(found) {
      const names = unfinishedIn(found);
      if (names.length === 0 && found.details["interrupted"] !== true)
        return Promise.resolve({ steps: [], reason: "the check names no package that is not fully installed" });
      const what = names.length === 0 ? `what ${finisher} had begun` : `the installation of ${listNames(names, 10)}`;
      const step = {
        action: remarked(`finish ${what}`, finish),
        async run(signal: AbortSignal) {
          await repairs.finish(signal);
          return `${finisher} has set up what can be set up`;
        },
      };
      return Promise.resolve({ steps: [step], packages: names });
    },
  };
}
