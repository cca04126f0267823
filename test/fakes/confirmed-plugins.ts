import type { ConfirmedPlugins } from "#domain/ports/plugins.ts";

export interface FakeConfirmedPlugins extends ConfirmedPlugins {
  /** Root confirms what is in a directory as it is. */
  readonly confirm: (plugin: { readonly path: string; readonly digest: string }) => void;
}

/** Root's list, in memory. */
export function createFakeConfirmedPlugins(): FakeConfirmedPlugins {
  const known = new Map<string, string>();
  return {
    has: ({ path, digest }) => known.get(path) === digest,
    confirm: ({ path, digest }) => void known.set(path, digest),
  };
}
