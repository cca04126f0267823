import { type Caller, grantedTo, type Operation } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import { type DomainError, missingScope, type ScopeLack } from "#domain/common/error.ts";
import { listNames } from "#kernel/text.ts";
import { allows, resourcesOf, scopesOn, withoutHost, withProposals } from "./scopes.ts";

/** What a call needs. */
export interface Need {
  readonly scope: Scope;
  /** Undefined: all resources. */
  readonly resource: string | undefined;
  /** Whether the resources are known only to the handler, which asks for each of them. */
  readonly isRefinedLater?: boolean;
}

export const needText = ({ scope, resource }: Need): string =>
  resource === undefined ? scope : `${scope}:${resource}`;

/** Whether scopes do not cover what a call needs. */
export function isWanting(granted: readonly string[], { scope, resource, isRefinedLater = false }: Need): boolean {
  if (allows(granted, scope, resource)) return false;
  return !(isRefinedLater && resource === undefined && resourcesOf(granted, scope).length > 0);
}

/** The first entry that allows what a call needs on this host, or each that does for some of the resources. */
export function allowingEntries(granted: readonly string[], need: Need, hostName: () => string): readonly string[] {
  const here = granted.map((entry) => ({ entry, scopes: scopesOn([entry], hostName) }));
  const whole = here.find(({ scopes }) => allows(scopes, need.scope, need.resource));
  if (whole !== undefined) return [whole.entry];
  return here.filter(({ scopes }) => !isWanting(scopes, need)).map(({ entry }) => entry);
}

/** The entries that would allow what a call needs on other hosts, or have it proposed there. */
const entriesElsewhere = (caller: Caller, need: Need): readonly string[] =>
  grantedTo(caller).filter((entry) => {
    const here = withoutHost(entry);
    return here !== entry && !caller.scopes.includes(here) && !isWanting(withProposals([here]), need);
  });

/** Why a caller has not a scope that a call needs. */
export function lackOf(caller: Caller, need: Need): DomainError {
  const granted = grantedTo(caller);
  const elsewhere = entriesElsewhere(caller, need);
  if (elsewhere.length === 0) return missingScope(needText(need), granted);
  const message = `this key lacks the scope ${needText(need)} on this host: it has ${listNames(elsewhere)}`;
  return missingScope(needText(need), granted, message);
}

/** {@link lackOf} for handlers. */
export const scopeLack: ScopeLack = (caller, scope, resource) => {
  const need: Need = { scope, resource };
  return caller === undefined ? missingScope(needText(need), []) : lackOf(caller, need);
};

/** Whether a list of scopes names something of what a call needs. */
export function isNamedIn(list: readonly string[], { scope, resource, isRefinedLater = false }: Need): boolean {
  if (resource !== undefined || isRefinedLater) return allows(list, scope, resource);
  // All resources: those that the list names are among them.
  return resourcesOf(list, scope).length > 0;
}

/** The scopes that a call of an operation needs, in the order in which they are checked. */
export function needsOf(
  { scope, alsoNeeds = [], narrows }: Pick<Operation, "scope" | "alsoNeeds" | "narrows">,
  resource: string | undefined,
): readonly Need[] {
  if (scope === "self" || scope === "public") return [];
  const own: Need = { scope, resource, ...(narrows === "answer" && { isRefinedLater: true }) };
  return [own, ...alsoNeeds.map((each): Need => ({ scope: each, resource: undefined }))];
}

/** {@link needsOf} that windows may hold back: reads never are. */
export const mutationNeeds = (operation: Operation, resource: string | undefined): readonly Need[] =>
  operation.effect === "read" ? [] : needsOf(operation, resource);
