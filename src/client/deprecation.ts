/** What an answer says of its operation: that it is to go (RFC 9745), when (RFC 8594), and what takes its place. */
export interface DeprecationNotice {
  readonly method: string;
  readonly path: string;
  /** Undefined where the service does not say it, or not as a date. */
  readonly sunset: Date | undefined;
  /** Address of what takes its place. */
  readonly successor: string | undefined;
}

function dateOf(text: string | null): Date | undefined {
  const date = new Date(text ?? "");
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Undefined for an answer that is not of a deprecated operation. */
export function deprecationOf(
  { method, path }: Pick<DeprecationNotice, "method" | "path">,
  { headers }: Pick<Response, "headers">,
): DeprecationNotice | undefined {
  if (!headers.has("Deprecation")) return undefined;
  const successor = /<([^>]*)>\s*;\s*rel="?successor-version"?/.exec(headers.get("Link") ?? "")?.[1];
  return { method, path, sunset: dateOf(headers.get("Sunset")), successor };
}
