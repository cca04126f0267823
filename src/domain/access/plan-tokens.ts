import type { Caller, Operation } from "#contract/operation.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import {
  comparedLines,
  createPlan,
  differenceOf,
  differenceText,
  essenceOf,
  type GroundedPlan,
  type PlanDifference,
} from "#domain/common/plan.ts";
import type { ApprovalRecord, PlanSeals } from "#domain/ports/approvals.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { canonicalJson, isRecord } from "#kernel/values.ts";
import { type Need, needText } from "./needs.ts";

/** The request header that a plan token is sent in. */
export const planTokenHeader = "X-Plan-Token";
export const planTokenForm = /^plan_[\w-]{16}\.[0-9a-z]{1,10}\.[\w-]{43}\.[\w-]{43}$/;

/** For so long a token is good after its plan was shown. */
export const planLifetimeMs = 10 * 60_000;
/** For longer than the clock of a host is set back by accident: a token that is good again must not be used again. */
const rememberedMs = 7 * 24 * 60 * 60_000;

/** A call that a plan is of. */
export interface PlannedCall {
  /** Of the key whose rights it takes. */
  readonly keyId: string;
  readonly operation: string;
  /** Parameters, query and body, as they were checked, without `dry_run`. */
  readonly input: object;
}

/** A token that this host has made for this call, and that is good still. */
export interface PresentedPlan {
  readonly id: string;
  readonly digest: string;
}

/** The input of the dry run of a call. */
export const asDryRun = (input: object): object => ({
  ...input,
  query: { ...("query" in input && isRecord(input.query) ? input.query : {}), dry_run: true },
});

const remedy = "ask again with ?dry_run=true, and send the token of that plan";

const refused = (reason: string, why: string, details: object = {}): DomainError =>
  new DomainError("CONFLICT", `cannot carry out the plan: ${why} (${remedy})`, {
    reason,
    ...details,
    retryable: false,
  });

export const planUsed = (): DomainError => refused("plan_used", "it was carried out already");

const maxReportedLines = 100;
const boundedLines = (lines: readonly string[]): readonly string[] =>
  lines.length <= maxReportedLines
    ? lines
    : [...lines.slice(0, maxReportedLines), `and ${lines.length - maxReportedLines} more`];

/** So much of a difference as is shown; each of thousands of files would be too much. */
const bounded = ({ added, missing }: PlanDifference): PlanDifference => ({
  added: boundedLines(added),
  missing: boundedLines(missing),
});

/**
 * @param plan what would be done now, with a token of its own.
 * @param difference from what was shown, where that is known still.
 */
export function planChanged(plan: object, difference: PlanDifference | undefined): DomainError {
  const isReported = difference !== undefined && difference.added.length + difference.missing.length > 0;
  const what = isReported ? `it would now ${differenceText(difference)}` : "something has changed since it was made";
  return new DomainError(
    "CONFLICT",
    `cannot carry out the plan: ${what} (\`details.plan\` is what would be done now, with its own token)`,
    {
      reason: "plan_changed",
      plan,
      ...(isReported && bounded(difference)),
      retryable: false,
    },
  );
}

/** Of all plans that are remembered: some megabytes, however long paths are. */
const maxRememberedCharacters = 2_000_000;
const charactersOf = (lines: readonly string[]): number =>
  lines.reduce((sum, { length }) => sum + length, lines.length + 1);

/** What the newest plans were, to tell what has changed since. Their tokens hold a digest alone, so this can be lost without harm. */
function createShownPlans() {
  const shown = new Map<string, readonly string[]>();
  let total = 0;
  return {
    add(id: string, lines: readonly string[]): void {
      shown.set(id, lines);
      total += charactersOf(lines);
      for (const [oldest, lost] of shown) {
        if (total <= maxRememberedCharacters) break;
        shown.delete(oldest);
        total -= charactersOf(lost);
      }
    },
    linesOf: (id: string): readonly string[] | undefined => shown.get(id),
  };
}

/** Whether a call is refused without the token of its plan: in a browser, dangerous changes are shown before they are made. */
export const demandsPlan = (caller: Caller | undefined, { effect }: Pick<Operation, "effect">): boolean =>
  (caller?.credential === "session" || caller?.via !== undefined) && effect === "danger";

/** What a call lacks that {@link demandsPlan} is true of, said before it as well. */
export const planDemand = `in a session and for a model this takes a plan that was shown (send the token of \`details.plan\`, or of a dry run, as ${planTokenHeader}; plan_token of a tool)`;

/** @param plan what would be done now, with its token. */
export const planRequired = (plan: object): DomainError =>
  new DomainError("CONFLICT", planDemand, { reason: "plan_required", plan, retryable: false });

/**
 * Tokens of plans: anyone who sends one has what the plan said carried out, or nothing. A token is good once, for ten minutes, for
 * the very call that it was made for, with the same key on the same host. It holds a digest of the plan.
 */
export function createPlanTokens({ seals, clock }: { readonly seals: PlanSeals; readonly clock: Pick<Clock, "now"> }) {
  const signedText = (text: string, { keyId, operation, input }: PlannedCall): string =>
    canonicalJson([text, keyId, operation, input]);
  const shown = createShownPlans();
  return {
    digestText: (text: string): string => seals.digest(text),

    digestOf: (plan: GroundedPlan): string => seals.digest(essenceOf(plan)),

    /** The plan, with a token for the call without `dry_run`. */
    issue: (plan: GroundedPlan, call: PlannedCall): GroundedPlan => {
      const expiresAt = clock.now() + planLifetimeMs;
      const id = seals.newId();
      shown.add(id, comparedLines(plan));
      const text = `plan_${id}.${expiresAt.toString(36)}.${seals.digest(essenceOf(plan))}`;
      return {
        ...plan,
        plan_token: `${text}.${seals.sign(signedText(text, call))}`,
        plan_expires_at: toTimestamp(expiresAt),
      };
    },

    /** What has come and gone since the plan of a token was shown; undefined where that is no longer known. */
    differenceSince: ({ id }: Pick<PresentedPlan, "id">, now: GroundedPlan): PlanDifference | undefined => {
      const before = shown.linesOf(id);
      return before && differenceOf(before, comparedLines(now));
    },

    /**
     * Reads a token for a call.
     * @param by distinguishes the request from others; a repetition of the request that has used the token gets it again.
     * @throws DomainError `VALIDATION_ERROR` for what is no token, `CONFLICT` with `details.reason` `plan_mismatch`, `plan_used` or
     * `plan_expired`.
     */
    read: (token: string, call: PlannedCall, by: string): PresentedPlan & { readonly isRepeated: boolean } => {
      if (!planTokenForm.test(token)) throw invalid(planTokenHeader, "Must be the plan_token of a dry run");
      const text = token.slice(0, token.lastIndexOf("."));
      if (!seals.isSigned(signedText(text, call), token.slice(text.length + 1)))
        throw refused("plan_mismatch", "the token is not one for this call, with this key, on this host");
      const [prefixed = "", end = "", digest = ""] = text.split(".");
      const id = prefixed.slice("plan_".length);
      const user = seals.userOf(id);
      if (user !== undefined && user !== by) throw planUsed();
      const expiresAt = Number.parseInt(end, 36);
      if (user === undefined && expiresAt <= clock.now())
        throw refused("plan_expired", `its token was good until ${toTimestamp(expiresAt)}`);
      return { id, digest, isRepeated: user !== undefined };
    },

    /**
     * Records that a plan is carried out, before it is.
     * @throws DomainError `CONFLICT` where another request was first; HostUnavailable where it cannot be recorded.
     */
    use: ({ id }: PresentedPlan, by: string): void => {
      if (!seals.use(id, by, clock.now() + rememberedMs)) throw planUsed();
    },
  };
}

export type PlanTokens = ReturnType<typeof createPlanTokens>;

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
