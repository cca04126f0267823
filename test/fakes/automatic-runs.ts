import type { AutomaticRun, AutomaticRuns } from "#domain/ports/automatic-runs.ts";

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
