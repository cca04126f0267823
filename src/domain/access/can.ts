import type { auth, Judgement, judgementKinds } from "#contract/auth.ts";
import {
  type Caller,
  canWait,
  grantedTo,
  type Handlers,
  type Operation,
  type Operations,
} from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import { DomainError, invalid } from "#domain/common/error.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { didYouMean } from "#kernel/closest.ts";
import { listNames } from "#kernel/text.ts";
import type { ApprovalRules } from "./approval-rules.ts";
import { credentialRefusal, elevationRefusal } from "./credential-refusal.ts";
import { allowingEntries, isWanting, lackOf, type Need, needsOf } from "./needs.ts";
import { demandsPlan, planDemand } from "./plan-tokens.ts";
import { budgetRefusal, type Decision } from "./rate-limit.ts";
import { allows, canonicalResource, withProposals } from "./scopes.ts";
import { heldMessage, type WindowGate } from "./window-gate.ts";

/** Why a caller has not a scope that a call needs; undefined where it has. */
export function scopeRefusal(caller: Caller, need: Need): DomainError | undefined {
  if (!isWanting(caller.scopes, need)) return undefined;
  return lackOf(caller, need);
}

interface Subject {
  readonly name: string;
  readonly caller: Caller;
  readonly operation: Operation;
  readonly needs: readonly Need[];
  readonly resource: string | undefined;
  /** What windows may hold back besides: the effects of a fix. */
  readonly effects: readonly Need[];
}

/** What is known of fixes before one is run. */
interface KnownFixes {
  /** Why a caller may carry out no fix of a check. */
  readonly refusal: (checkId: string, caller: Caller) => DomainError | undefined;
  /** The scopes on all resources that each fix of a check takes. */
  readonly scopesOf: (checkId: string) => readonly Scope[];
}

interface Opinion {
  readonly kind: (typeof judgementKinds)[number];
  readonly isRefusal: boolean;
  readonly message: string;
}

/** What one gate has to say about a call: the sentence of its refusal, or why it lets the call pass. */
type Gate = (subject: Subject) => readonly Opinion[];

/** Says where a call waits for the approval of others, which is not a refusal. */
const approvalGateOf =
  (rules: Pick<ApprovalRules, "concerns" | "waitsBecause">): Gate =>
  ({ caller, operation, needs }) => {
    if (!canWait(operation) || !rules.concerns(caller)) return [];
    const wide = withProposals(caller.scopes);
    if (needs.some((need) => isWanting(wide, need))) return [];
    const message = rules.waitsBecause(caller, needs);
    return message === undefined ? [] : [{ kind: "approval", isRefusal: false, message }];
  };

const hasMessage = (entries: readonly string[]): string =>
  entries.length > 1 ? `this key has the scopes ${listNames(entries)}` : `this key has the scope ${entries.join()}`;

const scopeGateOf =
  (hostName: () => string): Gate =>
  ({ caller, operation, needs }) => {
    if (needs.length === 0) return [{ kind: "scope", isRefusal: false, message: "any valid key may do it" }];
    const wide = canWait(operation) ? { ...caller, scopes: withProposals(caller.scopes) } : caller;
    return needs.flatMap((need): readonly Opinion[] => {
      const refusal = scopeRefusal(wide, need) && scopeRefusal(caller, need);
      if (refusal !== undefined) return [{ kind: "scope", isRefusal: true, message: refusal.message }];
      // What may be proposed is the other gate's to say.
      if (isWanting(caller.scopes, need)) return [];
      return [
        { kind: "scope", isRefusal: false, message: hasMessage(allowingEntries(grantedTo(caller), need, hostName)) },
      ];
    });
  };

/** A fix takes the scopes of what it does besides. */
const fixGateOf =
  ({ refusal: refusalOf }: Pick<KnownFixes, "refusal">): Gate =>
  ({ caller, operation, resource, needs }) => {
    if (operation.doesMore !== "fix" || resource === undefined) return [];
    if (needs.some((need) => isWanting(caller.scopes, need))) return [];
    const refusal = refusalOf(resource, caller);
    return refusal === undefined ? [] : [{ kind: "scope", isRefusal: true, message: refusal.message }];
  };

const elevationGate: Gate = ({ caller, operation }) => {
  const refusal = elevationRefusal(caller, operation);
  return refusal === undefined ? [] : [{ kind: "policy", isRefusal: true, message: refusal.message }];
};

/** What a key may do, but not each kind of credential of it. */
const credentialGate: Gate = ({ caller, name }) => {
  const refusal = credentialRefusal(caller, name);
  return refusal === undefined ? [] : [{ kind: "policy", isRefusal: true, message: refusal.message }];
};

/** Says where a call has to bring the token of its plan, which is not a refusal. */
const planGate: Gate = ({ caller, operation }) =>
  demandsPlan(caller, operation) ? [{ kind: "policy", isRefusal: false, message: planDemand }] : [];

const windowGateOf =
  (windows: Pick<WindowGate, "held" | "openFor">, waits: Gate): Gate =>
  (subject) => {
    const { operation, caller } = subject;
    if (operation.effect === "read") return [];
    const needs = [...subject.needs, ...subject.effects];
    // Windows count when it is carried out.
    const isLater = waits(subject).length > 0;
    return needs.flatMap((need): readonly Opinion[] => {
      const held = windows.held(need);
      const overrides = allows(caller.scopes, "windows:override");
      if (held !== undefined) {
        const own = { kind: "window", isRefusal: !isLater, message: heldMessage(held) } as const;
        const may =
          "this key has the scope windows:override: with a reason in X-Window-Override it is done nevertheless";
        return overrides ? [own, { kind: "window", isRefusal: false, message: may }] : [own];
      }
      return windows.openFor(need).map(({ plan, phase: { changesAt } }) => {
        const end = changesAt === undefined ? "" : ` until ${toTimestamp(changesAt)}`;
        return { kind: "window", isRefusal: false, message: `the window ${plan.name} is open${end}` };
      });
    });
  };

const limitGateOf =
  (budgetOf: ((keyId: string) => Decision) | undefined): Gate =>
  ({ caller, operation }) => {
    // The limits are those of keys.
    if (caller.credential === "socket" || operation.openToLoopback === true) return [];
    const decision = budgetOf?.(caller.keyId);
    if (decision === undefined || decision.allowed) return [];
    return [{ kind: "limit", isRefusal: true, message: budgetRefusal(decision).message }];
  };

/** The resource of a call, as its parameters would name it. @throws DomainError where it has none. */
function resourceOf(name: string, operation: Operation, given: string | undefined): string | undefined {
  const { path, resource, narrows, scope } = operation;
  const [, parameter] = /\{(\w+)\}/.exec(path) ?? [];
  if (resource !== undefined) {
    if (parameter === undefined) return resource({});
    return given === undefined ? undefined : resource({ [parameter]: given });
  }
  if (given === undefined) return undefined;
  if (narrows === "answer") return canonicalResource(scope, given);
  if (parameter === undefined) throw invalid("resource", `${name} is about no single resource (leave it out)`);
  // Its scope is not narrowed, whatever the resource.
  return undefined;
}

/** Says whether the caller may do something now, and why: the sentences that the call itself would be refused with. */
export function canHandler(ports: {
  readonly operations: Operations;
  readonly windows: Pick<WindowGate, "held" | "openFor">;
  readonly approvals: Pick<ApprovalRules, "concerns" | "waitsBecause">;
  /** What is left of the budget of a key, without using it. */
  readonly budgetOf: ((keyId: string) => Decision) | undefined;
  readonly fixes: KnownFixes;
  readonly hostName: () => string;
}): Handlers<Pick<typeof auth, "canI">>["canI"] {
  // In the order in which a call is refused.
  const waits = approvalGateOf(ports.approvals);
  const windows = windowGateOf(ports.windows, waits);
  const gates: readonly Gate[] = [
    ...[limitGateOf(ports.budgetOf), scopeGateOf(ports.hostName), elevationGate],
    ...[waits, windows, credentialGate, planGate, fixGateOf(ports.fixes)],
  ];
  return ({ query: { operation: name, resource: given } }, { caller }): Judgement => {
    const operation = Object.hasOwn(ports.operations, name) ? ports.operations[name] : undefined;
    if (operation === undefined) {
      const names = Object.keys(ports.operations);
      throw invalid("operation", `there is no operation ${JSON.stringify(name)}${didYouMean(name, names)}`);
    }
    if (caller === undefined) throw new DomainError("UNAUTHORIZED", "cannot answer: a key is needed");
    const resource = resourceOf(name, operation, given);
    const scopes = operation.doesMore === "fix" && resource !== undefined ? ports.fixes.scopesOf(resource) : [];
    const effects = scopes.map((scope): Need => ({ scope, resource: undefined }));
    const subject: Subject = { name, caller, operation, resource, needs: needsOf(operation, resource), effects };
    const opinions = gates.flatMap((gate) => gate(subject));
    const refusals = opinions.filter(({ isRefusal }) => isRefusal);
    // What else would let it pass is not a reason.
    const shown =
      refusals.length === 0 ? opinions : opinions.filter(({ isRefusal, kind }) => isRefusal || kind === "window");
    return {
      operation: name,
      resource: given ?? null,
      allowed: refusals.length === 0,
      because: shown.map(({ kind, message }) => ({ kind, message })),
    };
  };
}
