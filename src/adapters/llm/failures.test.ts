import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProviderFailed } from "#domain/ports/connectors.ts";
import { ErrorAnswer, readRetryAfter, toProviderFailed } from "./failures.ts";

const key = "sk-planted-0123456789abcdefXYZ";
const party = { provider: "OpenAI", host: "127.0.0.1:1", model: "model-1", secrets: [key], remedy: "look it up" };
const read = (error: unknown): ProviderFailed => toProviderFailed(error, party, 0);

const withCode = (code: string): Error => Object.assign(new Error(`${code} at ${key}`), { code });
/** As the libraries wrap what the network throws. */
const wrapped = (code: string): Error =>
  Object.assign(
    new Error(`Cannot connect: ${key}`, { cause: new TypeError("fetch failed", { cause: withCode(code) }) }),
    {
      isRetryable: true,
      requestBodyValues: { key },
    },
  );

describe("a network error", () => {
  it.each([
    ["ECONNREFUSED", "unreachable", true],
    ["EHOSTUNREACH", "unreachable", true],
    ["EAI_AGAIN", "unreachable", true],
    ["ENOTFOUND", "unreachable", false],
    ["UND_ERR_CONNECT_TIMEOUT", "unreachable", true],
    ["ECONNRESET", "unreachable", true],
    ["UND_ERR_SOCKET", "unreachable", true],
    ["SELF_SIGNED_CERT_IN_CHAIN", "unreachable", false],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "unreachable", false],
    ["CERT_HAS_EXPIRED", "unreachable", false],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "unreachable", false],
    ["UND_ERR_HEADERS_TIMEOUT", "silent", true],
    ["UND_ERR_BODY_TIMEOUT", "silent", true],
    ["HPE_INVALID_CONSTANT", "unreadable", false],
    ["UND_ERR_HEADERS_OVERFLOW", "unreadable", false],
    ["Z_DATA_ERROR", "unreadable", false],
    ["ERR_INVALID_CHAR", "unreadable", false],
  ] as const)("%s is classified as %s", (code, failure, isRetryable) => {
    for (const error of [withCode(code), wrapped(code)]) {
      const failed = read(error);
      expect(failed).toMatchObject({ failure, isRetryable, status: null, retryAfterMs: null });
      expect(failed.message).not.toContain("planted");
    }
  });
});

describe("an error answer of a provider", () => {
  it.each([
    [302, false],
    [400, false],
    [401, false],
    [402, false],
    [403, false],
    [404, false],
    [408, true],
    [409, true],
    [413, false],
    [422, false],
    [429, true],
    [500, true],
    [501, false],
    [502, true],
    [503, true],
    [529, true],
  ])("%i is retryable: %s", (status, isRetryable) => {
    expect(read(new ErrorAnswer(status, new Headers(), ""))).toMatchObject({ failure: "refused", status, isRetryable });
  });

  it("may be an event of a stream, in any form", () => {
    expect(read({ message: "overloaded", statusCode: 529, isRetryable: true })).toMatchObject({
      message: "OpenAI has an internal error (529): overloaded",
      status: 529,
      isRetryable: true,
    });
    expect(read({ type: "overloaded_error", message: "busy" })).toMatchObject({
      message: "OpenAI has an internal error (503): busy",
      failure: "refused",
      status: 503,
      isRetryable: true,
    });
    expect(read({ type: "of_no_known_kind", message: "busy" })).toMatchObject({
      message: "OpenAI gave up: busy",
      failure: "refused",
      status: null,
    });
    expect(read("just text").message).toBe("OpenAI gave up: just text");
    expect(read(undefined).message).toBe("OpenAI gave up");
    expect(read(null).message).toBe("OpenAI gave up");
  });
});

it("a ProviderFailed is passed on as it is, however deep", () => {
  const known = new ProviderFailed("too much", { failure: "unreadable", isRetryable: false });
  expect(read(new Error("a", { cause: new Error("b", { cause: known }) }))).toBe(known);
});

it("an error whose cause is itself is classified as unreadable", () => {
  const error = new Error("round");
  error.cause = error;
  expect(read(error)).toMatchObject({ failure: "unreadable" });
});

it("a failure of a provider never shows the key, whatever its answer holds", () => {
  const keyed = fc.tuple(fc.string(), fc.string()).map(([before, after]) => `${before}${key}${after}`);
  const text = fc.oneof(keyed, fc.string());
  const body = fc.oneof(
    keyed,
    fc.record({ error: fc.record({ message: text, code: text }) }).map((value) => JSON.stringify(value)),
    fc.record({ message: text, detail: text }).map((value) => JSON.stringify(value)),
    fc.record({ detail: fc.array(fc.record({ msg: text })) }).map((value) => JSON.stringify(value)),
    fc.anything().map((value) => JSON.stringify([value, key]) ?? key),
  );
  const error = fc.oneof(
    fc
      .tuple(fc.integer({ min: 300, max: 599 }), body, text)
      .map(([statusCode, responseBody, message]) =>
        Object.assign(new Error(message), { statusCode, responseBody, responseHeaders: { "retry-after": message } }),
      ),
    fc
      .tuple(fc.constantFrom("ECONNREFUSED", "X", "ERR_X", key), text)
      .map(([code, message]) => Object.assign(new Error(message), { code })),
    fc.record({ message: text, statusCode: fc.integer(), code: text }),
    fc.anything(),
    keyed,
  );
  fc.assert(
    fc.property(error, (thrown) => {
      const failed = read(thrown);
      expect(failed).toBeInstanceOf(ProviderFailed);
      expect(failed.message.length).toBeLessThan(500);
      const shown = JSON.stringify([failed.message, failed.stack, failed.cause, Object.entries(failed)]);
      expect(shown).not.toContain(key);
      expect(shown).not.toContain(key.slice(3, 20));
    }),
    { numRuns: 1000 },
  );
});

const now = Date.parse("2026-11-22T12:00:00Z");
const waitOf = (headers: Readonly<Record<string, string>>, body = "") => readRetryAfter({ headers, body }, now);

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
])("the wait of an answer with %j is %j ms", (headers, expected) => {
  expect(waitOf(headers)).toBe(expected);
});

it("the wait of an answer is read from the body of Google without a header", () => {
  const body = JSON.stringify({ error: { details: [{ retryDelay: "3.25s" }] } }, null, 2);
  expect(waitOf({}, body)).toBe(3250);
  expect(waitOf({ "retry-after": "1" }, body)).toBe(1000);
  expect(waitOf({}, '{"retryDelay":"soon"}')).toBeNull();
});
