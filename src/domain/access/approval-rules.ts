import type { Caller } from "#contract/operation.ts";
import { proposing } from "#contract/scopes.ts";
import { DomainError } from "#domain/common/error.ts";
import { isNamedIn, isWanting, lackOf, type Need, needText } from "./needs.ts";
import { expandScopes, scopesOn, withProposals } from "./scopes.ts";

/** What the settings say of approvals. */
export interface ApprovalPolicy {
  /** Scopes, narrowed ones, sets and roles: calls that need one of them wait for approval, no matter who makes them. */
  readonly requireFor: readonly string[];
  /** How many others have to approve. */
  readonly approvers: number;
  readonly expireMs: number;
}

/** The caller as who its call runs: with what it may propose in full. What it may grant is what it was given itself. */
export const asProposer = (caller: Caller): Caller => {
  const scopes = withProposals(caller.scopes);
  return scopes === caller.scopes ? caller : { ...caller, scopes, granted: caller.granted ?? caller.scopes };
};

export type ApprovalRules = ReturnType<typeof createApprovalRules>;

/** Says which calls wait for the approval of others. */
export function createApprovalRules(ports: { readonly policy: ApprovalPolicy; readonly hostName: () => string }) {
  const { hostName } = ports;
  let { policy } = ports;
  const demandedBy = ({ requireFor }: ApprovalPolicy): readonly string[] => {
    const expanded = expandScopes(requireFor);
    return "unknown" in expanded ? [] : expanded.scopes;
  };
  let demanded = demandedBy(policy);
  const demands = (need: Need): boolean => demanded.length > 0 && isNamedIn(scopesOn(demanded, hostName), need);
  return {
    policy: (): ApprovalPolicy => policy,
    replace: (next: ApprovalPolicy): void => {
      policy = next;
      demanded = demandedBy(next);
    },
    /** Whether calls of this caller may have to wait at all. */
    concerns: (caller: Caller | undefined): caller is Caller =>
      caller !== undefined && (demanded.length > 0 || withProposals(caller.scopes) !== caller.scopes),
    mayPropose: ({ scopes }: Pick<Caller, "scopes">, need: Need): boolean => !isWanting(withProposals(scopes), need),
    demands,
    /** Why a call with these needs waits; undefined where it does not. @throws DomainError `FORBIDDEN` */
    waitsBecause: (caller: Caller, needs: readonly Need[]): string | undefined => {
      const wide = withProposals(caller.scopes);
      const missing = needs.find((need) => isWanting(wide, need));
      if (missing !== undefined) throw lackOf(caller, missing);
      const proposed = needs.find((need) => isWanting(caller.scopes, need));
      if (proposed !== undefined) {
        const text = needText(proposed);
        return `this key has ${text} only as ${proposing}${text}: it is carried out once another key has approved it`;
      }
      const required = needs.find(demands);
      return (
        required && `the settings (approvals.require_for) have another key approve what needs ${needText(required)}`
      );
    },
  };
}

/** For what only the handler knows, where a call that does not wait comes to it nevertheless. */
export const approvalRequired = (need: Need): DomainError =>
  new DomainError("CONFLICT", `cannot use ${needText(need)} without the approval of another key`, {
    reason: "approval_required",
    scope: needText(need),
    retryable: false,
  });
