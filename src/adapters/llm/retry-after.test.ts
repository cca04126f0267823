import { expect, it } from "vitest";
import { readRetryAfter } from "./failures.ts";

const now = Date.parse("2026-11-22T12:00:00Z");
const read = (headers: Readonly<Record<string, string>>, body = "") => readRetryAfter({ headers, body }, now);

it.each([
  [{ "retry-after": "7" }, 7000],
  [{ "retry-after": " 0.5 " }, 500],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after": "Sun, 22 Nov 2026 12:00:30 GMT" }, 30_000],
  [{ "retry-after": "Sun, 22 Nov 2026 11:59:30 GMT" }, 0],
  [{ "retry-after": "99999999999" }, 86_400_000],
  [{ "retry-after-ms": "1500.5" }, 1501],
  [{ "retry-after-ms": "20", "retry-after": "7" }, 20],
  [{ "retry-after-ms": "soon", "retry-after": "7" }, 7000],
  [{ "retry-after": "-1" }, null],
  [{ "retry-after": "soon" }, null],
  [{ "retry-after": "Sun, 99 Nov" }, null],
  [{ "retry-after": "1e9" }, null],
  [{ "retry-after": "" }, null],
  [{}, null],
])("%j is %j", (headers, expected) => {
  expect(read(headers)).toBe(expected);
});

it("is read from the body of Google where no header says it", () => {
  const body = JSON.stringify({ error: { details: [{ retryDelay: "3.25s" }] } }, null, 2);
  expect(read({}, body)).toBe(3250);
  expect(read({ "retry-after": "1" }, body)).toBe(1000);
  expect(read({}, '{"retryDelay":"soon"}')).toBeNull();
});
