import {
  comparedLines,
  createPlan,
  differenceOf,
  type GroundedPlan,
  type PlanDifference,
} from "#domain/common/plan.ts";
import type { ApprovalRecord } from "#domain/ports/approvals.ts";
import { type Need, needText } from "./needs.ts";
import { bounded } from "./plan-tokens.ts";

/** Most characters of the compared lines that are stored with a call that waits; a cleanup may name each of thousands of files. */
const maxStoredChars = 256 * 1024;

/** What is stored of a plan to tell what has changed since; null where that would be too much. */
export function storedLines(plan: GroundedPlan): readonly string[] | null {
  const lines = comparedLines(plan);
  return lines.reduce((sum, { length }) => sum + length, 0) <= maxStoredChars ? lines : null;
}

/** The lines of what everybody sees of a plan. */
const shownLines = (plan: GroundedPlan): readonly string[] => comparedLines(createPlan(plan.steps, plan));

const needLines = (needs: ApprovalRecord["needs"]): readonly string[] =>
  needs.map((need) => `need the scope ${needText(need as Need)}`);

/** What has come and gone since the plan of a call was shown, which is never nothing where it is another plan. */
export function changeOf(
  { plan: before, compared, needs: neededBefore }: Pick<ApprovalRecord, "plan" | "compared" | "needs">,
  { plan, needs }: { readonly plan: GroundedPlan; readonly needs: ApprovalRecord["needs"] },
): PlanDifference {
  const isKnown = compared !== null && compared !== undefined;
  const difference = differenceOf(
    [...(isKnown ? compared : shownLines(before)), ...needLines(neededBefore)],
    [...(isKnown ? comparedLines(plan) : shownLines(plan)), ...needLines(needs)],
  );
  if (difference.added.length + difference.missing.length > 0) return bounded(difference);
  return { added: [isKnown ? "do it in another order" : "do something that its steps do not name"], missing: [] };
}
