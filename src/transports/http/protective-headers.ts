/**
 * Headers of every answer, so that a browser shows it as what it is and nothing else: a line of the journal that looks like a
 * page is no page. Only pages of the service itself may read answers; those of the reference have a policy of their own.
 */
export const protectiveHeaders: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Content-Security-Policy":
    "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  // The address of a stream may bear a key.
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};
