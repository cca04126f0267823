export const scopes = [
  "health:read",
  "health:fix",
  "system:read",
  "system:reboot",
  "system:time",
  "system:hostname",
  "users:read",
  "services:restart",
  "services:start",
  "services:stop",
  "services:reload",
  "services:enable",
  "services:mask",
  "processes:read",
  "processes:commands",
  "processes:signal",
  "logs:read",
  "disk-usage:read",
  "packages:read",
  "packages:install",
  "packages:remove",
  "packages:hold",
  "updates:read",
  "updates:apply",
  "updates:rollback",
  "connectors:read",
  "connectors:test",
  "connectors:chat",
  "plugins:read",
  "plugins:write",
  "plugins:run",
  "metrics:read",
  "audit:read",
  "keys:admin",
  "windows:override",
] as const;

export type Scope = (typeof scopes)[number];

/** Scopes that can be narrowed to a resource: `services:restart:nginx.service`, `logs:read:app-*`. */
export const narrowableScopes: readonly Scope[] = [
  "health:fix",
  "services:restart",
  "services:start",
  "services:stop",
  "services:reload",
  "services:enable",
  "services:mask",
  "processes:read",
  "processes:commands",
  "processes:signal",
  "logs:read",
  "packages:read",
  "packages:install",
  "packages:remove",
  "packages:hold",
  "connectors:test",
  "connectors:chat",
  "plugins:write",
  "plugins:run",
];

const viewer = scopes.filter((scope) => scope.endsWith(":read"));
const operatorAdds: readonly Scope[] = [
  "health:fix",
  "services:restart",
  "connectors:test",
  "connectors:chat",
  "plugins:run",
];

/** Named sets of scopes, allowed instead of scopes when a key is made. */
export const roles = {
  viewer,
  operator: [...viewer, ...operatorAdds],
  admin: scopes,
} as const satisfies Record<string, readonly Scope[]>;

/** Names that stand for several scopes, and can be narrowed as these can: `services:control:nginx.service`. */
const scopeSets = {
  "services:control": scopes.filter((scope) => scope.startsWith("services:")),
} as const satisfies Record<string, readonly Scope[]>;

export interface ParsedScope {
  readonly scope: Scope;
  readonly resource: string | undefined;
  /** The hosts that it holds on, a name or a pattern with `*`, in lower case; undefined for all. */
  readonly host: string | undefined;
  /** Whether calls that need it may only be proposed: `propose:updates:apply`. */
  readonly isProposal: boolean;
}

/** Before a scope: calls that need it may be proposed, and are carried out once others have approved them. */
export const proposing = "propose:";

const isScope = (value: string): value is Scope => (scopes as readonly string[]).includes(value);

const resourcePattern = /^[A-Za-z0-9:_.@+~\\*-]{1,255}$/;
const hostPattern = /^[A-Za-z0-9_.*-]{1,253}$/;

export const unitSuffix = /\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$/;

const isOfUnits = (scope: Scope): boolean => /^(?:services|processes):/.test(scope) || scope === "logs:read";

/**
 * Where the host begins in `nginx.service@web-*`; -1 without one. `@` also stands in names of units: there the host follows a
 * whole name with its suffix, so `getty@tty1` and `getty@*` are instances.
 */
function hostAt(scope: Scope, text: string): number {
  const at = text.lastIndexOf("@");
  if (at <= 0 || !isOfUnits(scope)) return at > 0 ? at : -1;
  const name = text.slice(0, at);
  return unitSuffix.test(name) || (scope === "logs:read" && name === "kernel") ? at : -1;
}

/** @returns undefined for an unknown scope, one that cannot be narrowed, or a malformed resource or host. */
export function parseScope(text: string): ParsedScope | undefined {
  if (!text.startsWith(proposing)) return parsePlain(text);
  const parsed = parsePlain(text.slice(proposing.length));
  return isGateable(parsed?.scope) && parsed !== undefined ? { ...parsed, isProposal: true } : undefined;
}

function parsePlain(text: string): ParsedScope | undefined {
  if (isScope(text)) return { scope: text, resource: undefined, host: undefined, isProposal: false };
  const [, name = "", narrowed, onHost] = /^([a-z-]+:[a-z]+)(?::(.*)|@(.*))$/s.exec(text) ?? [];
  if (!isScope(name)) return undefined;
  if (narrowed === undefined) {
    const isHost = onHost !== undefined && hostPattern.test(onHost);
    return isHost ? { scope: name, resource: undefined, host: onHost.toLowerCase(), isProposal: false } : undefined;
  }
  const at = hostAt(name, narrowed);
  const resource = at < 0 ? narrowed : narrowed.slice(0, at);
  const host = at < 0 ? undefined : narrowed.slice(at + 1);
  if (!narrowableScopes.includes(name) || !resourcePattern.test(resource)) return undefined;
  if (host !== undefined && !hostPattern.test(host)) return undefined;
  return { scope: name, resource, host: host?.toLowerCase(), isProposal: false };
}

/** What a list of scopes may name: scopes, sets and roles. */
export const scopeNames: readonly string[] = [...scopes, ...Object.keys(scopeSets), ...Object.keys(roles)];

const alwaysAllowed: readonly Scope[] = ["processes:commands", "windows:override"];

/** Whether calls that change something need the scope, so that windows can hold it back, and calls that need it can be proposed. */
export const isGateable = (scope: Scope | undefined): boolean =>
  scope !== undefined && !scope.endsWith(":read") && !alwaysAllowed.includes(scope);

const isRole = (name: string): name is keyof typeof roles => Object.hasOwn(roles, name);

/**
 * The scopes of a role or a set, narrowed as that is: `operator@web-*`, `services:control:nginx`; else the entry itself. Of
 * `propose:operator` those that can be proposed.
 */
export function scopesBehind(entry: string): readonly string[] {
  if (!entry.startsWith(proposing)) return plainScopesBehind(entry);
  const behind = plainScopesBehind(entry.slice(proposing.length)).map((each) => proposing + each);
  const proposable = behind.filter((each) => parseScope(each) !== undefined);
  return proposable.length === 0 ? [entry] : proposable;
}

function plainScopesBehind(entry: string): readonly string[] {
  const [, role = "", onHost = ""] = /^([a-z]+)(@.*)?$/s.exec(entry) ?? [];
  if (isRole(role)) return roles[role].map((scope) => scope + onHost);
  for (const [set, members] of Object.entries(scopeSets)) {
    const rest = entry.slice(set.length);
    if (entry.startsWith(set) && /^(?:$|[:@])/.test(rest)) return members.map((scope) => scope + rest);
  }
  return [entry];
}
