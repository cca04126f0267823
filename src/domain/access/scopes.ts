import { type ParsedScope, parseScope, roles, type Scope, scopeSets } from "#contract/scopes.ts";
import { serviceUnitName } from "#contract/system.ts";

const isRole = (name: string): name is keyof typeof roles => Object.hasOwn(roles, name);

/** `services:restart:nginx` means `services:restart:nginx.service`, as it does in a path; so does `logs:read:nginx`. */
function canonical(parsed: ParsedScope): ParsedScope {
  const { scope, resource } = parsed;
  if (resource === undefined || resource.includes("*")) return parsed;
  // The kernel's messages belong to no unit.
  const isUnit = /^(?:services|processes):/.test(scope) || (scope === "logs:read" && resource !== "kernel");
  return isUnit ? { scope, resource: serviceUnitName(resource) } : parsed;
}

const toText = ({ scope, resource }: ParsedScope): string => (resource === undefined ? scope : `${scope}:${resource}`);

/** The scopes of a role or a set, narrowed as the set is; else the entry itself. */
function scopesBehind(entry: string): readonly string[] {
  if (isRole(entry)) return roles[entry];
  for (const [set, scopes] of Object.entries(scopeSets)) {
    if (entry === set) return scopes;
    if (entry.startsWith(`${set}:`)) return scopes.map((scope) => scope + entry.slice(set.length));
  }
  return [entry];
}

/** Replaces roles and sets by their scopes and drops repetitions; `unknown` is the first entry that is neither. */
export function expandScopes(list: readonly string[]): { scopes: readonly string[] } | { unknown: string } {
  const expanded = new Set<string>();
  for (const entry of list) {
    for (const scope of scopesBehind(entry)) {
      const parsed = parseScope(scope);
      if (parsed === undefined) return { unknown: entry };
      expanded.add(toText(canonical(parsed)));
    }
  }
  return { scopes: [...expanded] };
}

/** Whether a pattern with `*` for any characters covers a name (or a narrower pattern). */
export function matchesPattern(pattern: string, name: string): boolean {
  if (!pattern.includes("*")) return pattern === name;
  const [head = "", ...rest] = pattern.split("*");
  if (!name.startsWith(head)) return false;
  let at = head.length;
  const tail = rest.pop() ?? "";
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - tail.length >= at && name.endsWith(tail);
}

const satisfies = (granted: ParsedScope, scope: Scope, resource: string | undefined): boolean => {
  if (granted.scope !== scope) return false;
  if (granted.resource === undefined) return true;
  return resource !== undefined && matchesPattern(granted.resource, resource);
};

const parsedLists = new WeakMap<readonly string[], readonly ParsedScope[]>();

function parsedOf(granted: readonly string[]): readonly ParsedScope[] {
  const known = parsedLists.get(granted);
  if (known !== undefined) return known;
  const parsed = granted.flatMap((entry) => parseScope(entry) ?? []).map(canonical);
  parsedLists.set(granted, parsed);
  return parsed;
}

/** Whether the granted scopes allow the scope on the resource; undefined means on everything. */
export function allows(granted: readonly string[], scope: Scope, resource?: string): boolean {
  return parsedOf(granted).some((entry) => satisfies(entry, scope, resource));
}

/** The resources that the scope is granted on: `all`, or names and patterns. */
export function resourcesOf(granted: readonly string[], scope: Scope): "all" | readonly string[] {
  const entries = parsedOf(granted).filter((entry) => entry.scope === scope);
  const narrowed = entries.flatMap(({ resource }) => resource ?? []);
  return narrowed.length < entries.length ? "all" : narrowed;
}

/** Without scopes that do not exist (any more): they allow nothing. */
export const knownScopes = (list: readonly string[]): readonly string[] =>
  list.filter((entry) => parseScope(entry) !== undefined);

/** The wanted scopes beyond the granted ones, which a caller may not give or revoke. */
export function notCovered(granted: readonly string[], wanted: readonly string[]): readonly string[] {
  return wanted.filter((entry) => {
    const parsed = parseScope(entry);
    return parsed === undefined || !allows(granted, parsed.scope, parsed.resource);
  });
}
