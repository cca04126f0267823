import type { Plan } from "#contract/operation.ts";

export const createPlan = (steps: readonly string[], rest: Partial<Plan> = {}): Plan => ({
  dry_run: true,
  units: [],
  packages: [],
  bytes: 0,
  requires_reboot: false,
  ...rest,
  steps: [...steps],
});
