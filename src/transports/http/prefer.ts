/** Cuts at a character, but not inside quoted strings (RFC 9110 §5.6.4). */
function split(text: string, at: "," | ";"): readonly string[] {
  const parts: string[] = [];
  let part = "";
  let isQuoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charAt(index);
    if (isQuoted && char === "\\") {
      part += text.slice(index, index + 2);
      index += 1;
    } else if (!isQuoted && char === at) {
      parts.push(part);
      part = "";
    } else {
      if (char === '"') isQuoted = !isQuoted;
      part += char;
    }
  }
  return [...parts, part].map((each) => each.trim());
}

const preference = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]*)|"((?:[^"\\]|\\.)*)"))?$/;

/**
 * What the client would like (RFC 7240 §2): values by name in small letters, `""` where there is none. Of two with one name
 * the first counts. What is malformed is left out: a preference is never a reason to refuse a request.
 */
function parsePrefer(header: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const element of split(header, ",")) {
    const match = preference.exec(split(element, ";")[0] ?? "");
    const name = match?.[1]?.toLowerCase();
    if (name === undefined || found.has(name)) continue;
    found.set(name, match?.[2] ?? match?.[3]?.replaceAll(/\\(.)/g, "$1") ?? "");
  }
  return found;
}

/** Whether the client would rather not wait for the answer. `header`: the value of `Prefer`, several of them joined or listed. */
export function prefersAsync(header: string | readonly string[] | undefined): boolean {
  if (header === undefined) return false;
  const joined = typeof header === "string" ? header : header.join(",");
  return parsePrefer(joined).get(respondAsync) === "";
}

/** Goes into `Preference-Applied` of an answer that did not wait (RFC 7240 §3). */
export const respondAsync = "respond-async";
