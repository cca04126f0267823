import type { Plan } from "#contract/operation.ts";

/** What a dry run answers: the steps that would be done, and what they touch as far as it is given. */
export const createPlan = (steps: readonly string[], rest: Partial<Plan> = {}): Plan => ({
  dry_run: true,
  units: [],
  packages: [],
  bytes: 0,
  requires_reboot: false,
  ...rest,
  steps: [...steps],
});
