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
export const scopeSets = {
  "services:control": scopes.filter((scope) => scope.startsWith("services:")),
} as const satisfies Record<string, readonly Scope[]>;

export interface ParsedScope {
  readonly scope: Scope;
  readonly resource: string | undefined;
}

const isScope = (value: string): value is Scope => (scopes as readonly string[]).includes(value);

const resourcePattern = /^[A-Za-z0-9:_.@+~\\*-]{1,255}$/;

/** @returns undefined for an unknown scope, or one that cannot be narrowed. */
export function parseScope(text: string): ParsedScope | undefined {
  if (isScope(text)) return { scope: text, resource: undefined };
  const cut = text.indexOf(":", text.indexOf(":") + 1);
  if (cut < 0) return undefined;
  const scope = text.slice(0, cut);
  const resource = text.slice(cut + 1);
  if (!isScope(scope) || !narrowableScopes.includes(scope) || !resourcePattern.test(resource)) return undefined;
  return { scope, resource };
}
