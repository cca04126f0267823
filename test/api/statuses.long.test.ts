import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type OperationName, operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import { canWait, type Operation } from "#contract/operation.ts";
import { roles } from "#contract/scopes.ts";
import { type Stream, streams } from "#contract/streams.ts";
import { createMetrics } from "#telemetry/metrics.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { openStream } from "../process/support/ws-client.ts";
import { breakMethod, methodsOf, type Port, portsOf, startOnPorts } from "./broken-ports.ts";
import { callOf } from "./calls.ts";
import { holdToDocument, onAnswer } from "./documented.ts";
import { send, type TestReply, type TestRequest, turns } from "./harness.ts";
import { type MutableService, startMutableService } from "./mutations.ts";
import { errorCases, provokeError } from "./provoked-errors.ts";

interface Documented {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, unknown>>;
}
const { paths } = openapiDocument("1.2.3") as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
};

const pair = (name: string, status: number | string): string => `${name} ${status}`;
/** Every status that the document has of an operation, without `default`. */
const documented = Object.values(paths).flatMap((methods) =>
  Object.values(methods).flatMap(({ operationId, responses }) =>
    Object.keys(responses).flatMap((status) => (status === "default" ? [] : [pair(operationId, status)])),
  ),
);

/** What was answered in this file. */
const met = new Set<string>();
onAnswer(({ method, endpoint = "", status }) => {
  const name = paths[endpoint]?.[method.toLowerCase()]?.operationId;
  if (name !== undefined) met.add(pair(name, status));
});

/** What a key has to have itself to propose the call, beside what it proposes. */
const heldByProposers: Partial<Record<OperationName, readonly string[]>> = {
  // Nobody gives away what they do not have.
  createKey: ["system:read"],
  // It is that of a read. The other one is that of the operation that is cancelled.
  cancelOperation: ["updates:read", "propose:updates:apply"],
  // The example is about a check.
  diagnose: ["health:read"],
};

const names = Object.keys(operations) as OperationName[];
const row = (name: OperationName): Operation => operations[name];
const rowsWith = (isOne: (operation: Operation) => boolean): readonly OperationName[] =>
  names.filter((name) => isOne(row(name)));
const isMutation = ({ effect }: Operation): boolean => effect !== "read";
const withQuery = (request: TestRequest, query: string): TestRequest => ({
  ...request,
  path: `${request.path}${request.path.includes("?") ? "&" : "?"}${query}`,
});
const withHeaders = (request: TestRequest, headers: TestRequest["headers"]): TestRequest => ({
  ...request,
  headers: { ...request.headers, ...headers },
});
/** The request without what says who calls. */
function anonymous(request: TestRequest): TestRequest {
  const { key: _, headers = {}, ...rest } = request;
  const { cookie: __, "x-steward-session": ___, ...others } = headers;
  return { ...rest, headers: others };
}

let addresses = 0;
/** Each from another one, so that failed logins do not add up. */
const nextAddress = (): string => {
  addresses += 1;
  return `198.51.${Math.floor(addresses / 250)}.${1 + (addresses % 250)}`;
};

let service: MutableService | undefined;
afterEach(async () => {
  await service?.app.close();
  service = undefined;
});
async function start(...options: Parameters<typeof startMutableService>): Promise<MutableService> {
  service = await startMutableService(...options);
  return service;
}

describe("a success", () => {
  it.each(names)("of %s", async (name) => {
    const started = await start();
    const { status, text } = await send(started, await callOf(started, name));
    expect([status, text]).toEqual([row(name).status ?? 200, expect.any(String)]);
  });

  it.each(rowsWith((operation) => isMutation(operation) && operation.status === 201))(
    "of a dry run of %s",
    async (name) => {
      const started = await start();
      const { status } = await send(started, withQuery(await callOf(started, name), "dry_run=true"));
      expect(status).toBe(200);
    },
  );

  it.each(rowsWith(({ versioned }) => versioned === true))(
    "of %s for a client that has its tag is 304",
    async (name) => {
      const started = await start();
      const request = await callOf(started, name);
      const { etag = "" } = (await send(started, request)).headers;
      expect((await send(started, withHeaders(request, { "if-none-match": etag }))).status).toBe(304);
    },
  );

  it.each(rowsWith(({ outlives }) => outlives === true))("of %s that continues is 202", async (name) => {
    const started = await start();
    const request = withHeaders(await callOf(started, name), { prefer: "respond-async" });
    expect((await send(started, request)).status).toBe(202);
  });

  it.each(rowsWith((operation) => canWait(operation)))("of %s that waits for approval is 202", async (name) => {
    const started = await start();
    const { scope, alsoNeeds = [] } = row(name);
    const own = heldByProposers[name] ?? [];
    const proposed = own.includes(scope) ? [] : [`propose:${scope}`];
    const key = started.key([...own, ...proposed, ...alsoNeeds]);
    expect((await send(started, await callOf(started, name, key))).status).toBe(202);
  });

  it.each(Object.values<Stream>(streams))("of the stream $path is 101", async ({ path }) => {
    const started = await start();
    const url = await started.app.listen({ host: "127.0.0.1", port: 0 });
    const { socket } = await openStream(url, `${apiBase}${path}`, { headers: { "X-API-Key": started.admin } });
    socket.terminate();
  });
});

/** Of operations, and of streams before they begin. */
const everything = [...names, ...Object.keys(streams).map((name) => `${name}Stream`)];
async function requestOf(started: MutableService, name: string, key = started.admin): Promise<TestRequest> {
  const stream: Stream | undefined = (streams as Readonly<Record<string, Stream>>)[name.replace(/Stream$/, "")];
  return stream === undefined ? callOf(started, name as OperationName, key) : { path: `${apiBase}${stream.path}`, key };
}

describe("a refusal", () => {
  it.each(errorCases)("of %s: %s", (...given) =>
    provokeError(given, (started) => {
      service = Object.assign(started, { provider: undefined as never });
    }).then(({ json }) => expect(json).toMatchObject({ error: { code: given[1] } })),
  );

  it.each(everything)("of %s for a malformed request, a foreign host, and no credential", async (name) => {
    const started = await start();
    const request = await requestOf(started, name);
    const statusOf = async (headers: TestRequest["headers"], by = request) =>
      (await send(started, { ...withHeaders(by, headers), from: nextAddress() })).status;
    expect(await statusOf({ host: "a b" })).toBe(400);
    expect(await statusOf({ host: "evil.example" })).toBe(403);
    await statusOf({}, anonymous(request));
    await send(started, withQuery(request, "no_such_name=1"));
    await send(started, { ...anonymous(request), body: undefined, key: started.key([]) });
  });

  it.each(everything)("of %s for a used-up budget", async (name) => {
    const started = await start({ rateLimits: { perMinute: 50, perHour: 1000 }, metricsPublic: "never" });
    const key = started.key(roles.admin);
    const request = await requestOf(started, name, key);
    for (let calls = 0; calls < 50; calls += 1) await send(started, { path: `${apiBase}/auth/whoami`, key });
    await send(started, request);
    for (let calls = 0; calls < 61; calls += 1) await send(started, { ...anonymous(request), from: "198.51.100.1" });
  });

  it.each(rowsWith(isMutation))("of %s with the plan of another call", async (name) => {
    const started = await start();
    const plan = withQuery(await callOf(started, name === "setTime" ? "setHostname" : "setTime"), "dry_run=true");
    const { plan_token: token } = (await send(started, plan)).json as { plan_token: string };
    const reply = await send(started, withHeaders(await callOf(started, name), { "x-plan-token": token }));
    expect(reply.json).toMatchObject({ error: { code: "CONFLICT", details: { reason: "plan_mismatch" } } });
  });

  it("of a stream of an unknown operation", async () => {
    const started = await start();
    await send(started, { path: `${apiBase}/ws/operations?id=nothing`, key: started.admin });
  });
});

it.each(everything)("an internal error of %s is 500", async (name) => {
  let isBroken = false;
  const started = await start({}, (app) => {
    holdToDocument(app);
    app.addHook("preHandler", (_, __, done) => done(isBroken ? new TypeError("a fault of this test") : undefined));
  });
  const request = await requestOf(started, name);
  isBroken = true;
  expect((await send(started, request)).status).toBe(500);
});

describe("UNAVAILABLE", () => {
  const fullDisk = () =>
    Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC", path: "/var/x" });
  const tooManyFiles = () => Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  const expectUnavailable = ({ json }: TestReply): void =>
    expect(json).toMatchObject({ error: { code: "UNAVAILABLE" } });

  it.each(rowsWith(({ effect, scope }) => effect === "read" && scope !== "public"))(
    "without space on the disk, for %s",
    async (name) => {
      const started = await startOnPorts();
      ({ service } = started);
      for (const port of Object.values<Port>(portsOf(service, started))) {
        for (const method of methodsOf(port)) {
          if (met.has(pair(name, 503))) return;
          const request = await callOf(service, name);
          const repair = breakMethod(port, method, fullDisk);
          await send(service, request).finally(repair);
        }
      }
    },
  );

  it("without another file descriptor, for getOperation", async () => {
    const started = await start();
    const request = await callOf(started, "getOperation");
    breakMethod({ port: started.operationStore, how: "throws" }, "read", tooManyFiles);
    expectUnavailable(await send(started, request));
  });

  it.each<OperationName>(["listApprovals", "getApproval"])(
    "without space among waiting requests, for %s",
    async (name) => {
      const started = await start();
      const proposal = await callOf(started, "restartService", started.key(["propose:services:restart"]));
      const { location = "" } = (await send(started, proposal)).headers;
      const path = name === "getApproval" ? location : `${apiBase}/approvals`;
      const request = { path: `${path}?wait=30s`, key: started.admin };
      const waiting = Array.from({ length: 64 }, () => send(started, request));
      expectUnavailable(await send(started, request));
      started.service.abort();
      expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
    },
  );

  const never = () => new Promise<never>(() => undefined);
  type Hang = (started: MutableService) => unknown;
  const hangs = (check: Readonly<{ plain: object }>) => Object.assign(check.plain, { finds: never });
  const hanging: readonly (readonly [OperationName, Parameters<typeof startMutableService>[0], Hang])[] = [
    ["listConnectors", { loadConnectors: never }, () => undefined],
    ["getConnector", { loadConnectors: never }, () => undefined],
    ["getMetrics", { metrics: { ...createMetrics(), text: never } }, () => undefined],
    ["listChecks", {}, ({ checks }) => hangs(checks)],
    ["getCheck", {}, ({ checks }) => hangs(checks)],
    ["listLogins", {}, ({ logins }) => Object.assign(logins, { sessions: never })],
    ["listProcesses", {}, ({ processes }) => Object.assign(processes, { sample: never })],
  ];
  it.each(hanging)(
    "without an answer before the connection is idle for too long, for %s",
    async (name, overrides, hang) => {
      const started = await start(overrides);
      hang(started);
      const { path } = await callOf(started, name);
      const url = await started.app.listen({ host: "127.0.0.1", port: 0 });
      const socket = new Promise<Socket>((resolve) => {
        started.app.server.once("request", (request: { readonly socket: Socket }) => resolve(request.socket));
      });
      const answering = fetch(`${url}${path}`, { headers: { "X-API-Key": started.admin } });
      // It is at work by then; what Node says of a connection on which nothing has moved for a minute.
      const busy = await socket;
      await turns(100);
      busy.emit("timeout");
      const answer = await answering;
      expect([answer.status, await answer.json()]).toMatchObject([503, { error: { code: "UNAVAILABLE" } }]);
    },
  );

  it.each(rowsWith(isMutation))("while the service stops, for a planned %s", async (name) => {
    const started = await start();
    const request = await callOf(started, name);
    const { plan_token: token } = (await send(started, withQuery(request, "dry_run=true"))).json as {
      plan_token: string;
    };
    started.service.abort();
    expectUnavailable(await send(started, withHeaders(request, { "x-plan-token": token })));
  });
});

describe("the statuses that were provoked", () => {
  it("are all those of the document", () => {
    expect(documented.length).toBeGreaterThan(800);
    expect(documented.filter((each) => !met.has(each))).toEqual([]);
  });
});
