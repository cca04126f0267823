/** The start of a list or of an element up to a separator, which does not count inside quoted strings (RFC 9110 §5.6.4). */
const elements = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const withoutParameters = /^(?:[^;"]|"(?:[^"\\]|\\.)*"?)*/;

const preference = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]*)|"((?:[^"\\]|\\.)*)"))?$/;

/**
 * Preferences (RFC 7240 §2): values by lower-case name, `""` without a value. The first of several with one name counts.
 * Malformed ones are ignored: a preference is never a reason to refuse a request.
 */
function parsePrefer(header: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [element] of header.matchAll(elements)) {
    const match = preference.exec(withoutParameters.exec(element.trim())?.[0].trim() ?? "");
    const name = match?.[1]?.toLowerCase();
    if (name === undefined || found.has(name)) continue;
    found.set(name, match?.[2] ?? match?.[3]?.replaceAll(/\\(.)/g, "$1") ?? "");
  }
  return found;
}

/** Whether the client prefers not to wait. @param header the value of `Prefer`. */
export function prefersAsync(header: string | readonly string[] | undefined): boolean {
  if (header === undefined) return false;
  const joined = typeof header === "string" ? header : header.join(",");
  return parsePrefer(joined).get(respondAsync) === "";
}

/** Sent in `Preference-Applied` of an answer that did not wait (RFC 7240 §3). */
export const respondAsync = "respond-async";
