import type { AutomaticRun, AutomaticRuns } from "#domain/ports/updates.ts";

/** The last run, in memory. */
export function createFakeAutomaticRuns(): AutomaticRuns {
  let last: AutomaticRun | undefined;
  return {
    last: () => last,
    save(run) {
      last = run;
    },
  };
}
