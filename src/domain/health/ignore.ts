const special = /[.+^${}()|[\]\\]/g;

const toExpression = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(special, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");

/** A test of names against ignored names and patterns with `*` and `?`. */
export function createIgnore(patterns: readonly string[]): (name: string) => boolean {
  const expressions = patterns.map(toExpression);
  return (name) => expressions.some((expression) => expression.test(name));
}

const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/+$/, "") : path);

/** Whether a mount point is ignored, by its path or a directory above it. "/" means only the root. */
export const isIgnoredPath = (path: string, ignore: readonly string[]): boolean =>
  ignore.map(withoutSlash).some((each) => path === each || (each !== "/" && path.startsWith(`${each}/`)));
