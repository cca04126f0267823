import type { PackageVersion } from "#domain/ports/packages.ts";

/** `1:2.0-3`, as rpm and dnf write it: an epoch of 0 is left out. */
export const versionOf = (epoch: string, version: string, release: string): string =>
  `${/^(0*|\(none\))$/.test(epoch) ? "" : `${epoch}:`}${version}-${release}`;

/** `name-1:2.0-3.noarch`: the one way to name exactly one package. */
export const nevraOf = ({ name, version, architecture }: PackageVersion): string =>
  `${name}-${version}.${architecture}`;

/** Takes such a name apart; undefined where it is none. */
export function parseNevra(text: string): PackageVersion | undefined {
  const [, name, epoch = "0", version, release, architecture] =
    /^(\S+)-(?:(\d+):)?([\w.+~^%{}]+)-([\w.+~^%{}]+)\.(\w+)$/.exec(text) ?? [];
  if (name === undefined || version === undefined || release === undefined || architecture === undefined)
    return undefined;
  return { name, version: versionOf(epoch, version, release), architecture };
}

/** `name.noarch`, under which several versions may be installed. */
export const keyOf = ({ name, architecture }: Pick<PackageVersion, "name" | "architecture">): string =>
  `${name}.${architecture}`;

/** What rpm takes for a name; nothing else is passed on. Dnf takes `*`, `?` and brackets for patterns. */
export const isPackageName = (name: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9_.+-]*$/.test(name);

/** Text in which `*`, `?` and `[…]` stand for others, as dnf reads settings. */
export function createPattern(pattern: string): (text: string) => boolean {
  const source = pattern.replace(/\[!|[\\^$.|+(){}*?]/g, (found) => {
    if (found === "*") return ".*";
    if (found === "?") return ".";
    return found === "[!" ? "[^" : `\\${found}`;
  });
  try {
    const expression = new RegExp(`^(?:${source})$`);
    return (text) => expression.test(text);
  } catch {
    // An open bracket stands for itself.
    return (text) => text === pattern;
  }
}

/** A version without the epoch 0, which says nothing. */
export const withoutZeroEpoch = (version: string): string => version.replace(/^0+:/, "");
