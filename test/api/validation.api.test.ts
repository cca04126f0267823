import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ErrorBody, InputFault } from "#contract/error-body.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { streams } from "#contract/streams.ts";
import { pathOf, send, startTestService, type TestReply, type TestRequest, type TestService } from "./harness.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.app.close());

const call = (request: TestRequest): Promise<TestReply> => send(service, { key: service.admin, ...request });
const errorIn = ({ json }: TestReply): ErrorBody["error"] => (json as ErrorBody).error;
/** The field that is at fault; answers of bytes have none. */
const fieldIn = ({ json }: TestReply): unknown => (json as Partial<ErrorBody> | undefined)?.error?.details?.field;
const faultsIn = (reply: TestReply): readonly InputFault[] => errorIn(reply).details?.faults ?? [];

const rows = Object.entries<Operation>(operations);
const ofTheApi = rows.filter(([, { base }]) => base !== "root");
/** A request of each row and stream: with a dry run, so that a parameter that is let through changes nothing. */
const requests: readonly (readonly [string, TestRequest])[] = [
  ...ofTheApi.map(([name, operation]): [string, TestRequest] => {
    const { method, effect } = operation;
    return [name, { method, path: `${pathOf(operation)}?${effect === "read" ? "" : "dry_run=true&"}` }];
  }),
  ...Object.entries(streams).map(([name, { path }]): [string, TestRequest] => [
    `stream ${name}`,
    { path: `${apiBase}${path}?` },
  ]),
];

describe.each(requests)("an unknown parameter in the query of %s", (which, request) => {
  it("is refused by its name", async () => {
    const reply = await call({ ...request, path: `${request.path}no_such_name=1` });
    expect([reply.status, errorIn(reply).code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(faultsIn(reply)).toContainEqual({ field: "no_such_name", issue: "Unknown parameter" });
  });

  it("is ignored where its name begins with _, also when it is repeated", async () => {
    const without = await call({ ...request, path: request.path.slice(0, -1) });
    const reply = await call({ ...request, path: `${request.path}_no_such_name=1&_=2&_=3` });
    expect([reply.status, fieldIn(reply)]).toEqual([without.status, fieldIn(without)]);
  });

  it("is not named without a key", async () => {
    // Each from an address of its own, so that failed logins do not add up.
    const from = `198.51.100.${requests.findIndex(([name]) => name === which) % 250}`;
    const isOfEverybody = rows.some(([name, { scope }]) => name === which && scope === "public");
    const { status } = await send(service, { ...request, path: `${request.path}no_such_name=1`, from });
    expect(status).toBe(isOfEverybody ? 400 : 401);
  });
});

it.each(rows.filter(([, { base }]) => base === "root"))(
  "is ignored by probes and metrics: %s",
  async (_, operation) => {
    const path = pathOf(operation);
    const { status } = await call({ path });
    expect((await call({ path: `${path}?verbose&collect[]=cpu&collect[]=disk&target=x` })).status).toBe(status);
  },
);

it.each([
  ["/system/logs?priorty=3", "priorty", "priority"],
  ["/system/services?stauts=failed", "stauts", "status"],
  ["/ws/logs?unitt=nginx", "unitt", "unit"],
  ["/system/logs?colour=red", "colour", undefined],
])("an unknown parameter has a suggestion: %s", async (path, field, meant) => {
  const reply = await call({ path: `${apiBase}${path}` });
  const { message, details } = errorIn(reply);
  expect(message).toBe(
    `cannot accept ${field}: unknown parameter${meant === undefined ? "" : ` (did you mean ${meant}?)`}`,
  );
  expect([details?.field, details?.issue]).toEqual([field, "Unknown parameter"]);
  expect(details?.faults?.[0]?.did_you_mean).toBe(meant);
});

describe("the faults of a request", () => {
  const create = (body: unknown, query = ""): Promise<TestReply> =>
    call({ method: "POST", path: `${apiBase}/auth/keys${query}`, body });

  it("are all named: the first in the message, the others in the order of the input", async () => {
    const body = { expires_at: "soon", nmae: "x", scopes: ["a", 5, ""], extra: 1 };
    const reply = await create(body, "?dry_rn=true");
    expect(errorIn(reply).message).toBe("cannot accept name: required field missing");
    expect(errorIn(reply).details).toMatchObject({ field: "name", issue: "Required field missing" });
    expect(faultsIn(reply)).toEqual([
      { field: "name", issue: "Required field missing" },
      { field: "expires_at", issue: "Must be an RFC 3339 time such as 2026-01-31T12:00:00Z" },
      { field: "nmae", issue: "Unknown field", did_you_mean: "name" },
      { field: "scopes.1", issue: "Must be a string" },
      { field: "scopes.2", issue: "Must not be empty" },
      { field: "extra", issue: "Unknown field" },
      { field: "dry_rn", issue: "Unknown parameter", did_you_mean: "dry_run" },
    ]);
    expect((await create({ ...body, name: "x" })).json).toMatchObject({ error: { details: { field: "nmae" } } });
  });

  it("are one where the framework finds it", async () => {
    const malformed = await call({ method: "POST", path: `${apiBase}/auth/keys`, text: "{" });
    expect(faultsIn(malformed)).toEqual([{ field: "body", issue: "Malformed JSON" }]);
  });

  it("are all named where a handler finds them, the first in the message", async () => {
    const scopes = ["nonsense", "health:read", "helth:read", "nonsense"];
    const reply = await create({ name: "x", scopes, expires_at: "2001-01-01T00:00:00Z" });
    const { message, details } = errorIn(reply);
    expect(message).toMatch(/^cannot accept scopes: unknown scope or role: nonsense /);
    expect([details?.field, details?.issue]).toEqual(["scopes", "unknown scope or role: nonsense"]);
    expect(faultsIn(reply)).toEqual([
      { field: "scopes", issue: "unknown scope or role: nonsense" },
      { field: "scopes", issue: "unknown scope or role: helth:read", did_you_mean: "health:read" },
      { field: "expires_at", issue: "is in the past" },
    ]);
    const one = await create({ name: "x", scopes: ["nonsense"] });
    expect(faultsIn(one)).toEqual([{ field: "scopes", issue: "unknown scope or role: nonsense" }]);
    const many = await create({ name: "x", scopes: Array.from({ length: 100 }, (_, at) => `none${at}`) });
    expect(faultsIn(many)).toHaveLength(32);
  });

  it("of what a handler finds come before a scope that the key may not give, and behind one that it may not", async () => {
    const key = service.key(["keys:admin"]);
    const asked = (scopes: readonly string[]): Promise<TestReply> =>
      call({
        ...{ method: "POST", path: `${apiBase}/auth/keys`, key },
        body: { name: "x", scopes, expires_at: "2001-01-01T00:00:00Z" },
      });
    expect((await asked(["health:read"])).status).toBe(403);
    expect(faultsIn(await asked(["nonsense", "health:read"])).map(({ field }) => field)).toEqual([
      "scopes",
      "expires_at",
    ]);
  });

  it.each<[string, TestRequest, readonly string[]]>([
    ["a token", { method: "POST", path: "/auth/tokens", body: { scopes: ["a", "b"] } }, ["scopes", "scopes"]],
    [
      "a silence",
      { method: "POST", path: "/alerts/silences", body: { check: "none", until: "2001-01-01T00:00:00Z" } },
      ["check", "until"],
    ],
    [
      "a hold",
      { method: "POST", path: "/packages/hold", body: { packages: ["none-a", "none-b"] } },
      ["packages", "packages"],
    ],
    ["series", { path: "/system/metrics?names=a,b&since=2999-01-01T00:00:00Z" }, ["names", "names", "since"]],
    [
      "logs",
      { path: "/system/logs?cursor=a&offset=1&unit=@&units=@x&since=2999-01-01T00:00:00Z&boot=x&grep=(" },
      ["cursor", "offset", "unit", "since", "boot", "grep"],
    ],
    ["facets", { path: "/system/logs/facets?boot=x&fields=x" }, ["boot", "fields"]],
    ["templates", { path: "/system/logs/templates?compare=x&boot=x" }, ["compare", "boot"]],
    ["an export", { path: "/system/logs/export?cursor=x&boot=x" }, ["cursor", "boot"]],
    ["a stream", { path: "/ws/logs?cursor=x&unit=@&grep=(" }, ["cursor", "unit", "grep"]],
  ])("of %s are all named", async (_, request, fields) => {
    const reply = await call({ ...request, path: `${apiBase}${request.path}` });
    expect([reply.status, faultsIn(reply).map(({ field }) => field)]).toEqual([400, fields]);
    const { field, issue } = errorIn(reply).details ?? {};
    expect(faultsIn(reply)[0]).toMatchObject({ field, issue });
  });

  it("are bounded in number and length", async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `n${at}`);
    const many = await create(Object.fromEntries(names.map((name) => [name, 1])));
    expect(faultsIn(many)).toHaveLength(32);
    const query = await call({ path: `${apiBase}/health?${names.map((name) => `${name}=1`).join("&")}` });
    expect(faultsIn(query)).toHaveLength(32);
    const huge = await create({ scopes: Array.from({ length: 200_000 }, () => 1) });
    expect([huge.status, faultsIn(huge).length]).toEqual([400, 1]);
    const long = await create({ [`${"ä".repeat(100_000)}`]: 1 });
    expect(long.text.length).toBeLessThan(2_000);
  });

  it("never have a value, nor a key in place of a name", async () => {
    const secret = service.admin;
    for (const reply of [
      await call({ path: `${apiBase}/health?${secret}` }),
      await call({ path: `${apiBase}/health?api_key=${secret}` }),
      await create({ [secret]: 1, scopes: [{ [secret]: secret }], name: 5, expires_at: secret }),
      await create({ name: secret, scopes: [secret] }, `?dry_run=${secret}&${secret}=1`),
      await call({ path: `${apiBase}/system/logs?limit=${secret}&since=${secret}&priority=${secret}` }),
    ]) {
      expect(reply.status).toBe(400);
      expect(reply.text).not.toContain(secret.slice(13));
    }
  });
});
