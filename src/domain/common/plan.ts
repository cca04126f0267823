import type { Plan } from "#contract/operation.ts";
import { listNames } from "#kernel/text.ts";
import { DomainError } from "./error.ts";

const basis: unique symbol = Symbol("basis of a plan");

/** What a plan rests on, beside what callers see of it. */
export interface PlanBasis {
  /** In place of steps and reason, where these have figures or times that change without a change that matters. */
  readonly digested?: readonly string[];
  /** What the task that carries it out has to find again, right before it changes something. */
  readonly transaction?: readonly string[];
}

/** A plan of a handler. Its copies by spread keep the basis, which JSON never shows. */
export type GroundedPlan = Plan & { readonly [basis]?: PlanBasis };

export const createPlan = (
  steps: readonly string[],
  rest: Partial<Plan> = {},
  restsOn: PlanBasis = {},
): GroundedPlan => ({
  dry_run: true,
  units: [],
  packages: [],
  bytes: 0,
  requires_reboot: false,
  ...rest,
  steps: [...steps],
  [basis]: restsOn,
});

export const basisOf = (plan: GroundedPlan): PlanBasis => plan[basis] ?? {};

/**
 * What a person who agreed to the plan would want to know changed, as text: neither sizes nor times. Two plans with the same
 * text are the same.
 */
export function essenceOf(plan: GroundedPlan): string {
  const { digested } = basisOf(plan);
  const {
    steps,
    units,
    packages,
    requires_reboot: requiresReboot,
    rollback,
    rollback_lacks: lacks,
    fix_id: fix,
  } = plan;
  // Without steps it says why nothing would be done, in figures at present.
  const reason = steps.length === 0 || digested !== undefined ? undefined : plan.reason;
  return JSON.stringify([
    digested ?? steps,
    steps.length === 0,
    units,
    packages,
    requiresReboot,
    rollback ?? null,
    lacks ?? [],
    fix ?? null,
    plan.risk ?? null,
    reason ?? null,
  ]);
}

export const isPlan = (answer: unknown): answer is GroundedPlan =>
  typeof answer === "object" && answer !== null && "dry_run" in answer && answer.dry_run === true;

/** What {@link essenceOf} compares, line by line for people. */
export function comparedLines(plan: GroundedPlan): readonly string[] {
  const { steps, units, packages, rollback, rollback_lacks: lacks = [], risk, reason } = plan;
  const { digested } = basisOf(plan);
  return [
    ...(digested ?? steps),
    ...units.map((unit) => `touch the unit ${unit}`),
    ...packages.map((name) => `touch the package ${name}`),
    ...(plan.requires_reboot ? ["need a reboot afterwards"] : []),
    ...(rollback === undefined ? [] : [`have a way back: ${rollback}`]),
    ...lacks.map((name) => `have no way back for ${name}`),
    ...(plan.fix_id === undefined ? [] : [`use the fix ${plan.fix_id}`]),
    ...(risk === undefined ? [] : [`have the risk ${risk}`]),
    ...(steps.length > 0 ? [] : ["do nothing"]),
    ...(reason === undefined || digested !== undefined ? [] : [reason]),
  ];
}

export interface PlanDifference {
  readonly added: readonly string[];
  readonly missing: readonly string[];
}

export function differenceOf(planned: readonly string[], now: readonly string[]): PlanDifference {
  // A cleanup names each of thousands of files.
  const [before, after] = [new Set(planned), new Set(now)];
  return { added: now.filter((each) => !before.has(each)), missing: planned.filter((each) => !after.has(each)) };
}

const listedDifferences = 5;

/** The first differences, after `it would now`. */
export const differenceText = ({ added, missing }: PlanDifference): string =>
  listNames([...added.map((each) => `also ${each}`), ...missing.map((each) => `not ${each}`)], listedDifferences);

/**
 * Compares what is about to be done with what was agreed to.
 * @param planned undefined: nothing was.
 * @param doing completes `cannot …`.
 * @throws DomainError `CONFLICT`, with what has come and what has gone in `details`.
 */
export function requireAsPlanned(planned: readonly string[] | undefined, now: readonly string[], doing: string): void {
  if (planned === undefined) return;
  const difference = differenceOf(planned, now);
  const { added, missing } = difference;
  if (added.length === 0 && missing.length === 0) return;
  throw new DomainError(
    "CONFLICT",
    `cannot ${doing} as planned: it would now ${differenceText(difference)}; nothing was changed (plan again)`,
    { reason: "plan_changed", added, missing, retryable: false },
  );
}
