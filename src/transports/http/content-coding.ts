/** Content codings (RFC 9110 §8.4.1), in the order of our preference. */
export const codings = ["zstd", "br", "gzip"] as const;
export type Coding = (typeof codings)[number];

const identity = "identity";
const element = /^([!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/** Weights by name, which is `*` for all others. A name that is given twice has its last weight; malformed elements are ignored. */
function parseWeights(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const each of header.toLowerCase().split(",")) {
    const match = element.exec(each.trim());
    // The alias of RFC 9110 §8.4.1.3.
    if (match?.[1] !== undefined)
      weights.set(match[1] === "x-gzip" ? "gzip" : match[1], Number.parseFloat(match[2] ?? "1"));
  }
  return weights;
}

/**
 * The coding that the client prefers (RFC 9110 §12.5.3), and of several that it likes as much ours. Undefined: the answer is
 * sent as it is, also where the client accepts nothing at all.
 * @param header the value of `Accept-Encoding`; without it nobody has asked for a coding.
 * @param available the codings that there are, in the order of preference.
 */
export function chooseCoding<C extends Coding = Coding>(
  header: string | readonly string[] | undefined,
  available: readonly C[] = codings as readonly Coding[] as readonly C[],
): C | undefined {
  if (header === undefined || header === "") return undefined;
  const weights = parseWeights(typeof header === "string" ? header : header.join(","));
  const weightOf = (name: string): number => weights.get(name) ?? weights.get("*") ?? 0;
  const best = available.reduce((one, other) => (weightOf(other) > weightOf(one) ? other : one));
  const isPreferred = weightOf(best) > 0 && weightOf(best) >= (weights.get(identity) ?? 0);
  return isPreferred ? best : undefined;
}
