import type { PackageVersion } from "#domain/ports/packages.ts";

const parts = (text: string): readonly string[] => text.match(/\d+|[A-Za-z]+|~|\^/g) ?? [];

const isNumeric = (part: string): boolean => /^\d/.test(part);

function compareNumbers(one: string, other: string): number {
  const [a, b] = [one.replace(/^0+/, ""), other.replace(/^0+/, "")];
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a < b ? -1 : Number(a > b);
}

function compareParts(one: string | undefined, other: string | undefined): number {
  if (one === other) return 0;
  // A tilde is before everything, even the end; a caret after the end and before everything else.
  if (one === "~" || other === "~") return one === "~" ? -1 : 1;
  if (one === undefined) return -1;
  if (other === undefined) return 1;
  if (one === "^" || other === "^") return one === "^" ? -1 : 1;
  if (isNumeric(one) && isNumeric(other)) return compareNumbers(one, other);
  if (isNumeric(one) !== isNumeric(other)) return isNumeric(one) ? 1 : -1;
  return one < other ? -1 : 1;
}

/** Compares two versions or two releases as rpm does: negative where the first is the older one. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [parts(one), parts(other)];
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const order = compareParts(a[at], b[at]);
    if (order !== 0) return order;
  }
  return 0;
}

export function splitVersion(text: string): {
  readonly epoch: string;
  readonly version: string;
  readonly release: string;
} {
  const [, epoch = "0", version = "", release = ""] = /^(?:(\d+):)?([^-]*)-?(.*)$/.exec(text) ?? [];
  return { epoch, version, release };
}

export function comparePackageVersions(one: string, other: string): number {
  const [a, b] = [splitVersion(one), splitVersion(other)];
  return (
    compareNumbers(a.epoch, b.epoch) || compareVersions(a.version, b.version) || compareVersions(a.release, b.release)
  );
}

/** `1:2.0-3`, as rpm and dnf write it: an epoch of 0 is left out. */
export const versionOf = (epoch: string, version: string, release: string): string =>
  `${/^(0*|\(none\))$/.test(epoch) ? "" : `${epoch}:`}${version}-${release}`;

/** `name-1:2.0-3.noarch`: the one way to name exactly one package. */
export const nevraOf = ({ name, version, architecture }: PackageVersion): string =>
  `${name}-${version}.${architecture}`;

export function parseNevra(text: string): PackageVersion | undefined {
  const [, name, epoch = "0", version, release, architecture] =
    /^(\S+)-(?:(\d+):)?([\w.+~^%{}]+)-([\w.+~^%{}]+)\.(\w+)$/.exec(text) ?? [];
  if (name === undefined || version === undefined || release === undefined || architecture === undefined)
    return undefined;
  return { name, version: versionOf(epoch, version, release), architecture };
}

/** `name.noarch`, under which several versions may be installed. */
export const nameAndArchitecture = ({ name, architecture }: Pick<PackageVersion, "name" | "architecture">): string =>
  `${name}.${architecture}`;

/** What rpm takes for a name; nothing else is passed on. Dnf takes `*`, `?` and brackets for patterns. */
export const isPackageName = (name: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9_.+-]*$/.test(name);

export interface Wanted {
  readonly name: string;
  readonly architecture: string | undefined;
}

/** Reads `name` or `name:architecture`. */
export function wantedOf(text: string, isName = isPackageName): Wanted | undefined {
  const [name = "", architecture, ...more] = text.split(":");
  if (!isName(name) || more.length > 0) return undefined;
  return architecture === undefined || /^\w+$/.test(architecture) ? { name, architecture } : undefined;
}

export const isWanted = (
  found: Pick<PackageVersion, "name" | "architecture">,
  { name, architecture }: Wanted,
): boolean => found.name === name && (architecture === undefined || found.architecture === architecture);

/** As dnf and zypper write it: `name` or `name.architecture`. */
export const wordOf = ({ name, architecture }: Wanted): string =>
  architecture === undefined ? name : nameAndArchitecture({ name, architecture });

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

export const withoutZeroEpoch = (version: string): string => version.replace(/^0+:/, "");

/** All that a pattern in settings of dnf may match of a package. */
export function formsOf(found: PackageVersion): readonly string[] {
  const { name, architecture, version } = found;
  const { epoch, version: main, release } = splitVersion(version);
  const whole = `${name}-${epoch}:${main}-${release}`;
  return [name, `${name}.${architecture}`, nevraOf(found), `${whole}.${architecture}`, whole, `${name}-${main}`];
}
