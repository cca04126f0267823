/**
 * How often a page asks again, in milliseconds. A key has a hundred requests a minute and a thousand an hour, for all that use it: a page that
 * is open for hours has to leave most of them.
 */
export const pace = {
  /** What changes while somebody looks at it. */
  often: 10_000,
  usual: 30_000,
  seldom: 60_000,
  rarely: 300_000,
} as const;
