const maxMs = 86_400_000;

const inBounds = (ms: number): number | null =>
  Number.isFinite(ms) ? Math.min(Math.max(Math.ceil(ms), 0), maxMs) : null;

/** The form of a date in HTTP (RFC 9110, 5.6.7). Others would be guessed at. */
const dateForm = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

function fromHeader(value: string, now: number): number | null {
  const text = value.trim();
  if (/^\d{1,12}(\.\d{1,9})?$/.test(text)) return inBounds(Number(text) * 1000);
  return dateForm.test(text) ? inBounds(Date.parse(text) - now) : null;
}

/** How long the provider asked to be left alone, in milliseconds; null where it did not say, or not in a known form. */
export function readRetryAfter(
  { headers, body }: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  now: number,
): number | null {
  const ms = headers["retry-after-ms"]?.trim() ?? "";
  if (/^\d{1,12}(\.\d{1,9})?$/.test(ms)) return inBounds(Number(ms));
  const header = headers["retry-after"];
  if (header !== undefined) return fromHeader(header, now);
  // Google says it in the body (google.rpc.RetryInfo).
  const [, seconds] = /"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"/.exec(body) ?? [];
  return seconds === undefined ? null : inBounds(Number(seconds) * 1000);
}
