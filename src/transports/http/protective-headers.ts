/** Headers of every answer, so that a browser never interprets one as a page. Only pages of the service may read answers. */
export const protectiveHeaders: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Content-Security-Policy":
    "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  // The address of a stream may hold a key.
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};
