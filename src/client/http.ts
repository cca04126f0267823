/**
 * The address of a path of a service.
 * @param url of the service; one behind a reverse proxy may have a path (`https://hosts.example.org/web1`).
 * @param path from the root of the service.
 * @throws TypeError when the URL is malformed.
 */
export function addressOf(url: string, path: string): URL {
  const address = new URL(url);
  address.pathname = `${address.pathname.replace(/\/+$/, "")}${path}`;
  return address;
}

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

/** Waits for a time, or until the signal fires. */
export type Sleep = (durationMs: number, signal: AbortSignal | undefined) => Promise<void>;

/** {@link Sleep} by the clock. */
export function sleep(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, durationMs);
    signal?.addEventListener("abort", end);
  });
}
