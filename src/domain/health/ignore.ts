const special = /[.+^${}()|[\]\\]/g;

const toExpression = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replaceAll(special, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");

/** A test of names against those that settings leave out: names, or patterns with `*` and `?`. */
export function createIgnore(patterns: readonly string[]): (name: string) => boolean {
  const expressions = patterns.map(toExpression);
  return (name) => expressions.some((expression) => expression.test(name));
}
