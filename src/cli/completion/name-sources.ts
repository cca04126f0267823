interface NameList {
  /** Below the base of the interface. */
  readonly path: string;
  /** Whether the service learns what the names are about. */
  readonly isSearched?: true;
  readonly query: Readonly<Record<string, string>>;
  /** The member of the answer that has the list, and the one of each item that has the name. */
  readonly list: string;
  readonly member: string;
}

const most = "1000";

/**
 * Lists of the service from which shells complete names. They repeat what the operations table says, since reading that takes
 * longer than an answer; a test compares both.
 */
export const nameSources = {
  unit: { path: "/system/units", query: { limit: most }, list: "units", member: "name" },
  service: { path: "/system/services", query: { limit: most }, list: "services", member: "name" },
  check: { path: "/health/checks", query: {}, list: "results", member: "check_id" },
  runbook: { path: "/runbooks", query: {}, list: "runbooks", member: "id" },
  snapshot: { path: "/updates/snapshots", query: {}, list: "snapshots", member: "id" },
  package: { path: "/packages", isSearched: true, query: { limit: most }, list: "packages", member: "name" },
  installed: {
    path: "/packages",
    isSearched: true,
    query: { limit: most, installed: "true" },
    list: "packages",
    member: "name",
  },
  plugin: { path: "/plugins", query: {}, list: "plugins", member: "name" },
  key: { path: "/auth/keys", query: {}, list: "keys", member: "id" },
} as const satisfies Readonly<Record<string, NameList>>;

export type NameSource = keyof typeof nameSources;

export const nameListOf = (source: string): NameList | undefined =>
  Object.hasOwn(nameSources, source) ? nameSources[source as NameSource] : undefined;
