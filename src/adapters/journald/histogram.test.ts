import { expect, it } from "vitest";
import { divide } from "./histogram.ts";

// That the buckets hold the window, and what is fitted to a boot, test/ports/journal-differential.test.ts shows.
it.each([
  { span: 0, most: 60, seconds: 1 },
  { span: 59, most: 60, seconds: 1 },
  { span: 60, most: 60, seconds: 2 },
  { span: 3599, most: 60, seconds: 60 },
  { span: 86_399, most: 24, seconds: 3600 },
  { span: 40 * 364 * 86_400, most: 1, seconds: 64 * 364 * 86_400 },
])("a histogram of $span seconds in at most $most buckets has buckets of $seconds s", ({ span, most, seconds }) => {
  expect(divide(0, span * 1_000_000, most).seconds).toBe(seconds);
});
