import type { PackageChange } from "#domain/ports/packages.ts";

export function areSame(one: readonly PlainChange[], other: readonly PlainChange[]): boolean {
  const told = (changes: readonly PlainChange[]): string =>
    changes
      .map(({ name, architecture, from, to }) => `${name}:${architecture} ${from} ${to}`)
      .sort()
      .join("\n");
  return told(one) === told(other);
}

/** `libssl3 3.0.13`, `old removed`, for people. */
export function describeChanges(changes: readonly PlainChange[], most = 5): string {
  const told = changes.slice(0, most).map(({ name, to }) => (to === null ? `${name} removed` : `${name} ${to}`));
  const more = changes.length - told.length;
  return [...told, ...(more > 0 ? [`${more} more`] : [])].join(", ") || "nothing";
}

/** Changes before it is known which are for security. */
export type PlainChange = Omit<PackageChange, "isSecurity">;
