import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Deprecation } from "#contract/deprecation.ts";
import { operations } from "#contract/index.ts";
import type { Operations } from "#contract/operation.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { runInProcess } from "./cli-run.ts";
import { createDocumentCheck, watchAnswers } from "./documented.ts";
import { send, startTestService, type TestReply, type TestRequest, type TestService } from "./harness.ts";

const deprecated = { since: "2026-12-01", sunset: "2028-01-01", instead: "`GET /system/units`" } satisfies Deprecation;
const table: Operations = {
  ...operations,
  listServices: { ...operations.listServices, deprecated: { ...deprecated, successor: "/system/units" } },
  restartService: {
    ...operations.restartService,
    deprecated: { ...deprecated, instead: "a start", successor: "/system/services/{name}/start" },
  },
  getReadiness: { ...operations.getReadiness, deprecated },
};
const document = openapiDocument("1.2.3", table);
const check = createDocumentCheck(document);

let service: TestService;
let faults: string[];
const begin = async (overrides: Parameters<typeof startTestService>[0] = {}): Promise<void> => {
  faults = [];
  const watch = (app: FastifyInstance): void => watchAnswers(app, (answer) => void faults.push(...check(answer)));
  service = await startTestService({ table, ...overrides }, watch);
};
beforeEach(() => begin());
afterEach(async () => {
  service.service.cut();
  await service.app.close();
  expect(faults).toEqual([]);
});

const services = { path: "/api/v1/system/services" } as const;
const restart = { method: "POST", path: "/api/v1/system/services/cron/restart" } as const;
const ask = (request: TestRequest, key: string | undefined = service.admin): Promise<TestReply> =>
  send(service, { ...(key !== undefined && { key }), ...request });
const said = ({ headers }: TestReply) => [headers["deprecation"], headers["sunset"], headers["link"]];

const documentation = '</api/v1/docs>; rel="deprecation"; type="text/html"';
const [since, sunset] = ["@1796083200", "Sat, 01 Jan 2028 00:00:00 GMT"];
const ofServices = [since, sunset, `</api/v1/system/units>; rel="successor-version", ${documentation}`];
const ofRestart = (name: string) => [
  ...[since, sunset],
  `</api/v1/system/services/${name}/start>; rel="successor-version", ${documentation}`,
];

describe("an answer of a deprecated operation says so", () => {
  it("on success, also without a body", async () => {
    const answer = await ask(services);
    expect([answer.status, said(answer)]).toEqual([200, ofServices]);
    const head = await ask({ ...services, method: "HEAD" });
    expect([head.status, said(head)]).toEqual([200, ofServices]);
    const unchanged = await ask({ ...services, headers: { "if-none-match": answer.headers["etag"] ?? "" } });
    expect([unchanged.status, said(unchanged)]).toEqual([304, ofServices]);
  });

  it("on a refusal", async () => {
    const refused = [
      await send(service, services),
      await ask(services, service.key(["health:read"])),
      await ask({ path: `${services.path}?limit=x` }),
      await ask({ ...services, headers: { host: "evil.example" } }),
    ];
    expect(refused.map((answer) => [answer.status, said(answer)])).toEqual(
      [401, 403, 400, 403].map((status) => [status, ofServices]),
    );
    const missing = await ask({ method: "POST", path: "/api/v1/system/services/no%22such%3E%0D%0Aone/restart" });
    expect([missing.status, said(missing)]).toEqual([400, ofRestart("no%22such%3E%0D%0Aone")]);
  });

  it("when it is planned, done, and answered again", async () => {
    const headers = { "idempotency-key": "once" };
    const answers = [
      await ask({ ...restart, path: `${restart.path}?dry_run=true` }),
      await ask({ ...restart, headers }),
      await ask({ ...restart, headers }),
    ];
    expect(answers.map((answer) => [answer.status, said(answer)])).toEqual(answers.map(() => [200, ofRestart("cron")]));
    expect(answers[2]?.headers["idempotent-replayed"]).toBe("true");
  });

  it("when it needs no key, and without a successor", async () => {
    expect(said(await send(service, { path: "/readyz" }))).toEqual([since, sunset, documentation]);
  });

  it("and that of another operation does not", async () => {
    for (const path of ["/api/v1/health", "/livez", "/api/v1/nothing"])
      expect(said(await ask({ path }))).toEqual([undefined, undefined, undefined]);
    const options = await ask({ ...services, method: "OPTIONS" });
    expect(said(options)).toEqual([undefined, undefined, undefined]);
  });
});

describe("the OpenAPI document", () => {
  it("marks the operation, says what to use, and lists the headers", () => {
    const at = (path: string, method: string) =>
      (document["paths"] as Record<string, Record<string, Record<string, unknown>>>)[path]?.[method];
    expect(at(services.path, "get")).toMatchObject({
      deprecated: true,
      "x-deprecated-since": "2026-12-01",
      "x-sunset": "2028-01-01",
      description: expect.stringContaining(
        "Deprecated since 2026-12-01: use `GET /system/units`. It works until 2028-01-01 at least.",
      ),
      responses: { 200: { headers: { Deprecation: { $ref: "#/components/headers/Deprecation" } } } },
    });
    expect(at("/api/v1/health", "get")).not.toHaveProperty("deprecated");
    const { headers } = openapiDocument("1.2.3")["components"] as { headers: object };
    expect(Object.keys(headers)).not.toContain("Sunset");
  });
});

describe("the use of a deprecated operation", () => {
  const warnings = () =>
    service
      .logLines()
      .filter(({ msg }) => msg === "a deprecated operation is in use")
      .map(({ level, operation, key_id: keyId, sunset: until }) => [level, operation, keyId, until]);
  const idOf = (key: string): string => key.split("_")[1] ?? "";

  it("is logged once a day for each key and operation, and counted each time", async () => {
    const other = service.key(["system:read"]);
    for (const key of [service.admin, other, service.admin, other]) await ask(services, key);
    await ask(restart);
    // Callers that are not known use nothing.
    await send(service, services);
    await ask(services, service.key(["health:read"]));
    const [admin, second] = [idOf(service.admin), idOf(other)];
    const first = [
      ["warn", "listServices", admin, "2028-01-01"],
      ["warn", "listServices", second, "2028-01-01"],
      ["warn", "restartService", admin, "2028-01-01"],
    ];
    await expect.poll(warnings).toEqual(first);
    await service.clock.advance(24 * 60 * 60 * 1000);
    await ask(services);
    await ask(services);
    await expect.poll(warnings).toEqual([...first, first[0]]);
    const { text } = await ask({ path: "/metrics" });
    expect(text).toContain('svc_deprecated_requests_total{operation="listServices"} 6');
    expect(text).toContain('svc_deprecated_requests_total{operation="restartService"} 1');
  });

  it("is warned of by the command line, once in a run, on standard error", async () => {
    const url = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const environment = { STEWARD_URL: url, STEWARD_API_KEY: service.admin };
    const warning =
      "steward: warning: GET /system/services is deprecated, and may be gone after 2028-01-01: /api/v1/system/units takes its place\n";
    const listed = await runInProcess(["services", "--json"], { environment });
    expect([listed.code, listed.err, JSON.parse(listed.out)]).toMatchObject([0, warning, { total: 5 }]);
    // An error too, and each operation once.
    const failed = await runInProcess(["api", "restart-service", "nothing"], { environment });
    expect(failed.code).not.toBe(0);
    expect(failed.err.match(/POST \S+ is deprecated/g)).toHaveLength(1);
    expect((await runInProcess(["api", "get-health"], { environment })).err).toBe("");
  });
});
