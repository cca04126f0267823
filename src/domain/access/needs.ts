import type { Operation } from "#contract/operation.ts";
import type { Scope } from "#contract/scopes.ts";
import { allows, resourcesOf } from "./scopes.ts";

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
