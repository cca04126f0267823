import {
  narrowableScopes,
  type ParsedScope,
  parseScope,
  proposing,
  type Scope,
  scopeNames,
  scopesBehind,
} from "#contract/scopes.ts";
import { serviceUnitName } from "#contract/system.ts";
import { closestName } from "#kernel/closest.ts";

/** `services:restart:nginx` means `services:restart:nginx.service`, as it does in a path; so does `logs:read:nginx`. */
function canonical(parsed: ParsedScope): ParsedScope {
  const { scope, resource } = parsed;
  if (resource === undefined || resource.includes("*")) return parsed;
  // The kernel's messages belong to no unit.
  const isUnit = /^(?:services|processes):/.test(scope) || (scope === "logs:read" && resource !== "kernel");
  return isUnit ? { ...parsed, resource: serviceUnitName(resource) } : parsed;
}

/** The name of a resource as scopes have it: `nginx` of a service is `nginx.service`. */
export const canonicalResource = (scope: string, resource: string): string =>
  canonical({ scope: scope as Scope, resource, host: undefined, isProposal: false }).resource ?? resource;

const toText = ({ scope, resource, host, isProposal }: ParsedScope): string =>
  `${isProposal ? proposing : ""}${scope}${resource === undefined ? "" : `:${resource}`}${host === undefined ? "" : `@${host}`}`;

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

/** What is wrong with an entry that {@link expandScopes} does not know, and the one that was most likely meant. */
export function describeUnknown(entry: string): { readonly hint: string; readonly meant: string | undefined } {
  const prefix = entry.startsWith(proposing) ? proposing : "";
  const [, name = "", rest = ""] = /^([^:@]*(?::[^:@]*)?)(.*)$/s.exec(entry.slice(prefix.length)) ?? [];
  if (scopeNames.includes(name)) {
    const isWhole = rest.startsWith(":") && !narrowableScopes.some((scope) => scope === name);
    const why = isWhole ? "is not for single resources" : "cannot be had so";
    return { hint: ` (${prefix}${name} ${why})`, meant: undefined };
  }
  const found = closestName(name, scopeNames);
  if (found === undefined) return { hint: ` (there are ${scopeNames.join(", ")})`, meant: undefined };
  const meant = `${prefix}${found}${rest}`;
  return { hint: ` (did you mean ${meant}?)`, meant };
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

/** Whether one of the narrowed parts covers another; undefined stands for everything. */
const coversPart = (granted: string | undefined, wanted: string | undefined): boolean =>
  granted === undefined || (wanted !== undefined && matchesPattern(granted, wanted));

const parsedLists = new WeakMap<readonly string[], readonly ParsedScope[]>();

function parsedOf(granted: readonly string[]): readonly ParsedScope[] {
  const known = parsedLists.get(granted);
  if (known !== undefined) return known;
  const parsed = granted.flatMap((entry) => parseScope(entry) ?? []).map(canonical);
  parsedLists.set(granted, parsed);
  return parsed;
}

/** Whether a host has a name, by its whole name or by the part before the first dot. */
function isOnHost(pattern: string, hostName: string): boolean {
  const name = hostName.toLowerCase().replace(/\.$/, "");
  return [name, name.split(".", 1)[0] ?? ""].some((each) => matchesPattern(pattern, each));
}

const resolvedLists = new WeakMap<readonly string[], { readonly hostName: string; readonly here: readonly string[] }>();

/**
 * What scopes come to on one host: those of other hosts are left out, and the others no longer name any. The same list each
 * time, and the one given where it names no host.
 */
export function scopesOn(granted: readonly string[], nameOfHost: () => string): readonly string[] {
  if (parsedOf(granted).every(({ host }) => host === undefined)) return granted;
  const hostName = nameOfHost();
  const known = resolvedLists.get(granted);
  if (known?.hostName === hostName) return known.here;
  const here = parsedOf(granted)
    .filter(({ host }) => host === undefined || isOnHost(host, hostName))
    .map((each) => toText({ ...each, host: undefined }));
  resolvedLists.set(granted, { hostName, here });
  return here;
}

const proposedLists = new WeakMap<readonly string[], readonly string[]>();

/** The scopes with those that may only be proposed in full; the list itself where it has none. */
export function withProposals(granted: readonly string[]): readonly string[] {
  if (!parsedOf(granted).some(({ isProposal }) => isProposal)) return granted;
  const known = proposedLists.get(granted);
  if (known !== undefined) return known;
  const full = parsedOf(granted).map((each) => toText({ ...each, isProposal: false }));
  proposedLists.set(granted, full);
  return full;
}

/** Whether the granted scopes, as {@link scopesOn} has them, allow the scope on the resource; undefined means on everything. */
export function allows(granted: readonly string[], scope: Scope, resource?: string): boolean {
  // An entry that names hosts means nothing before it is known which host this is.
  return parsedOf(granted).some(
    (entry) =>
      entry.scope === scope && !entry.isProposal && entry.host === undefined && coversPart(entry.resource, resource),
  );
}

/** The resources that the scope is granted on: `all`, or names and patterns. */
export function resourcesOf(granted: readonly string[], scope: Scope): "all" | readonly string[] {
  const entries = parsedOf(granted).filter(
    (entry) => entry.scope === scope && !entry.isProposal && entry.host === undefined,
  );
  const narrowed = entries.flatMap(({ resource }) => resource ?? []);
  return narrowed.length < entries.length ? "all" : narrowed;
}

/** The entry without the hosts that it names, as {@link scopesOn} has it. */
export const withoutHost = (entry: string): string =>
  parsedOf([entry])
    .map((each) => toText({ ...each, host: undefined }))
    .join();

/** Without scopes that do not exist (any more): they allow nothing. */
export const knownScopes = (list: readonly string[]): readonly string[] =>
  list.filter((entry) => parseScope(entry) !== undefined);

/** The wanted scopes beyond the granted ones, on whatever host, which a caller may not give or revoke. */
export function notCovered(granted: readonly string[], wanted: readonly string[]): readonly string[] {
  return wanted.filter((entry) => {
    const [parsed] = parsedOf([entry]);
    return !parsedOf(granted).some(
      ({ scope, resource, host, isProposal }) =>
        scope === parsed?.scope &&
        (!isProposal || parsed.isProposal) &&
        coversPart(resource, parsed.resource) &&
        coversPart(host, parsed.host),
    );
  });
}
