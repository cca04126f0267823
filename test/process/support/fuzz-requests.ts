import fc from "fast-check";
import type { Documented, JsonSchema } from "./openapi.ts";

/** Which credentials a request bears; the test has the values. */
export const credentialKinds = [
  "admin",
  "bearer",
  "both",
  "none",
  "wrong",
  "malformed",
  "differing",
  "scopeless",
] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** A request as it is generated: everything but the secrets, so that a failure can be printed. */
export interface FuzzRequest {
  /** The operation that was meant; undefined where the path or method is made up. */
  readonly operation: Documented | undefined;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
  readonly isChunked: boolean;
  readonly credential: CredentialKind;
}

/** Stands for the id of a key that the test has made and may revoke. */
export const madeKeyId = "~made~";

const nasty: readonly string[] = [
  "",
  "\0",
  "\ud800",
  "\udfff\ud800",
  "__proto__",
  "constructor",
  "toString",
  "-",
  "--help",
  "../../etc/passwd",
  "$(id)",
  "`id`;\n",
  "<script>",
  "a".repeat(300),
  "%00",
  "💣",
  "9999-12-31T23:59:59-23:59",
  "0000-01-01T00:00:00Z",
  "2016-12-31T23:59:60Z",
];
const text = fc.oneof(fc.string({ unit: "binary", maxLength: 40 }), fc.constantFrom(...nasty));

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const hostileBody = fc.oneof(
  { weight: 5, arbitrary: fc.jsonValue({ stringUnit: "binary", maxDepth: 5 }).map((value) => JSON.stringify(value)) },
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      "",
      "{",
      "nul",
      '"\ud800"',
      '{"__proto__":{"dry_run":true}}',
      '{"constructor":{"prototype":{"a":1}}}',
      '{"name":"a","scopes":["\\ud800"]}',
      '{"name":"a","scopes":[],"scopes":["system:read"]}',
      '{"name":"a\\u0000b","scopes":[]}',
      '{"expires_in":1e999}',
      '{"expires_in":12345678901234567890}',
      '{"name":"a","scopes":[],"expires_at":"9999-12-31T23:59:59-23:59"}',
      "\ufeff{}",
      "\0",
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(10, 1_000, 50_000).map(nested) },
  { weight: 1, arbitrary: fc.constantFrom(1_000, 100_000).map((count) => `{"a":${'{"a":'.repeat(count)}1`) },
  { weight: 1, arbitrary: fc.constantFrom(10_000, 900_000).map((size) => JSON.stringify({ name: "x".repeat(size) })) },
);

const often = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 7, arbitrary: usual }, { weight: 1, arbitrary: odd });

const scopeText = often(
  fc.constantFrom("system:read", "viewer", "admin", "logs:read:app-*", "services:restart:*"),
  fc.oneof(fc.constant("nothing:read"), text),
);
const moment = fc.oneof(
  fc
    .date({ noInvalidDate: true, min: new Date("2020-01-01"), max: new Date("9999-12-31") })
    .map((at) => at.toISOString()),
  fc.constantFrom("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59", "2026-02-30T00:00:00Z", "tomorrow"),
);

const chatMessage = fc.record(
  { role: often(fc.constantFrom("system", "user", "assistant"), text), content: text },
  { requiredKeys: ["role"] },
);

/** Values near what a schema asks for, mostly of the right type. */
function near(schema: JsonSchema, name: string): fc.Arbitrary<unknown> {
  const types = [schema["type"]].flat();
  if (Array.isArray(schema["enum"])) return often(fc.constantFrom<unknown>(...(schema["enum"] as unknown[])), text);
  if (name === "messages") return fc.array(chatMessage, { maxLength: 4 });
  if (name === "scopes") return fc.array(scopeText, { maxLength: 4 });
  if (schema["format"] === "date-time") return often<unknown>(moment, fc.oneof(fc.constant(null), text));
  if (types.includes("integer"))
    return often<unknown>(fc.integer({ min: 1, max: 1_500 }), fc.constantFrom<unknown>(1e21, 0.5, -1, "1", null));
  if (types.includes("boolean")) return often<unknown>(fc.boolean(), fc.constantFrom<unknown>("true", 1, null));
  return often(fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }), text);
}

function bodyOf(schema: JsonSchema): fc.Arbitrary<string> {
  const members = Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>);
  const model = Object.fromEntries(members.map(([name, member]) => [name, near(member, name)]));
  const required = (schema["required"] ?? []) as string[];
  const good = fc.record(model, { requiredKeys: required });
  const extra = fc.tuple(good, text, fc.jsonValue()).map(([value, name, member]) => ({ ...value, [name]: member }));
  return often<unknown>(good, extra).map((value) => JSON.stringify(value));
}

/** Escapes what a request line cannot hold; a lone surrogate becomes what a browser makes of it. */
const toUrlText = (value: string): string => encodeURIComponent(value.toWellFormed());

const rawPart = fc.oneof(
  { weight: 6, arbitrary: text.map(toUrlText) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("%", "%zz", "%c0%af", "%ff", "..%2f", "a%2fb", "..", "%00", "x".repeat(2_000)),
  },
);

function paramOf(name: string): fc.Arbitrary<string> {
  // No unit is called so on any host that the tests run on.
  if (name === "name") return rawPart.map((part) => `no-such-unit-${part}`);
  return fc.oneof({ weight: 1, arbitrary: fc.constant(madeKeyId) }, { weight: 3, arbitrary: rawPart });
}

/** What these change is in the workspace alone: keys and tokens. */
const harmless: readonly string[] = ["createKey", "revokeKey", "createToken"];

/**
 * The service has the machine that the tests run on in its hands, so what changes that machine is only ever asked for a plan:
 * a second `dry_run` is refused, and lists of packages are not downloaded.
 */
export const isForPlansOnly = ({ method, name }: Documented): boolean => method !== "GET" && !harmless.includes(name);
const neverAsked: readonly string[] = ["refresh"];

function pathOf(operation: Documented): fc.Arbitrary<string> {
  const names = operation.parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
  const filled = fc
    .tuple(...names.map(paramOf))
    .map((values) =>
      values.reduce((path, value, at) => path.replace(`{${names[at]}}`, () => value), operation.template),
    );
  const known = operation.parameters
    .filter((parameter) => parameter.in === "query" && !neverAsked.includes(parameter.name))
    .map(({ name, schema }) => near(schema, name).map((value) => `${name}=${toUrlText(String(value))}`));
  const odd = fc.tuple(fc.constantFrom("__proto__", "constructor", "api_key", "limit[]", "", "%"), rawPart);
  const pairs = [...known, odd.map(([name, value]) => `${name}=${value}`)];
  const some = fc.array(fc.oneof(...pairs), { maxLength: 3 });
  // Hardly any of those that change something takes one, and whatever is not known is refused.
  const query = (harmless.includes(operation.name) ? often(fc.constant<string[]>([]), some) : some)
    .map((list) => (isForPlansOnly(operation) ? [...list, "dry_run=true"] : list))
    .map((list) => (list.length > 0 ? `?${list.join("&")}` : ""));
  return fc.tuple(filled, query).map(([path, rest]) => path + rest);
}

const latin = fc.string({ maxLength: 30 }).map((value) => value.replaceAll(/[^\x20-\x7e]/g, "").trim());
const header: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  fc.tuple(
    fc.constantFrom("Accept", "Accept-Encoding", "If-None-Match", "Range", "Cookie", "Referer", "Prefer"),
    latin,
  ),
  fc.tuple(fc.constantFrom("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Request-Id", "Traceparent"), latin),
  fc.tuple(fc.constantFrom("Accept-Encoding"), fc.constantFrom("gzip", "br, zstd;q=0.5", "*", "identity;q=0")),
  fc.tuple(fc.constantFrom("If-None-Match"), fc.constantFrom("*", '"a", W/"b"', '"')),
  fc.tuple(fc.constantFrom("Origin"), fc.constantFrom("null", "http://evil.example", "http://localhost")),
  fc.tuple(fc.constantFrom("X-HTTP-Method-Override", "X-Original-URL", "__proto__", "constructor"), latin),
  fc.tuple(
    fc.constantFrom("Content-Type"),
    fc.constantFrom("text/plain", "application/json", "a/b; c", "\xff", "multipart/form-data"),
  ),
);
const host = fc.oneof(
  { weight: 20, arbitrary: fc.constant("localhost") },
  { weight: 1, arbitrary: fc.constantFrom("127.0.0.1", "evil.example", "[::1]:80", "a@b", "localhost:99999") },
);
const json = ["Content-Type", "application/json"] as const;
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "PURGE"];
const madeUpPath = fc.oneof(
  rawPart.map((part) => `/${part}`),
  rawPart.map((part) => `/api/v1/${part}`),
  fc.constantFrom("/api/v1", "/api/v1/auth", "/api/v1/docs/x", "//", "/%", "*", "/metrics/", "/api/v1/health/"),
);

/** Requests from the document, good ones and hostile ones, and some that it knows nothing of. */
export function fuzzRequests(operations: readonly Documented[]): fc.Arbitrary<FuzzRequest> {
  const shared = {
    headers: fc
      .tuple(host, often(fc.constant<(readonly [string, string])[]>([]), fc.array(header, { maxLength: 3 })))
      .map(([name, list]) => [["Host", name] as const, ...list]),
    isChunked: fc.boolean(),
    credential: fc.oneof(
      { weight: 4, arbitrary: fc.constant<CredentialKind>("admin") },
      { weight: 4, arbitrary: fc.constantFrom(...credentialKinds) },
    ),
  };
  const documented = operations.map((operation) => ({
    // Those that change something are few, and what they say is seldom reached.
    weight: harmless.includes(operation.name) ? 8 : 1,
    arbitrary: fc.record({
      ...shared,
      headers: shared.headers.map((list) => (operation.body === undefined ? list : [...list, json])),
      operation: fc.constant(operation),
      method: fc.constant(operation.method),
      path: pathOf(operation),
      body:
        operation.body === undefined
          ? fc.option(hostileBody, { nil: undefined, freq: 5 })
          : often(bodyOf(operation.body), hostileBody),
    }),
  }));
  const isKnown = new Set(operations.map(({ method, template }) => `${method} ${template}`));
  const madeUp = fc
    .record({
      ...shared,
      operation: fc.constant(undefined),
      method: fc.constantFrom(...methods),
      path: fc.oneof(madeUpPath, fc.constantFrom(...operations.map(({ template }) => template))),
      body: fc.option(hostileBody, { nil: undefined, freq: 3 }),
    })
    .filter(({ method, path }) => !isKnown.has(`${method === "HEAD" ? "GET" : method} ${path}`));
  return fc.oneof({ weight: 4, arbitrary: fc.oneof(...documented) }, { weight: 1, arbitrary: madeUp });
}
