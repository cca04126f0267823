const special = /[.+^${}()|[\]\\]/g;

const toExpression = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(special, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");

/** A test of names against those that settings leave out: names, or patterns with `*` and `?`. */
export function createIgnore(patterns: readonly string[]): (name: string) => boolean {
  const expressions = patterns.map(toExpression);
  return (name) => expressions.some((expression) => expression.test(name));
}

const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/+$/, "") : path);

/** Whether settings leave out a mount point: by its path, or by that of a folder above it. "/" means just the root. */
export const isIgnoredPath = (path: string, ignore: readonly string[]): boolean =>
  ignore.map(withoutSlash).some((each) => path === each || (each !== "/" && path.startsWith(`${each}/`)));
