import { describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { scopes } from "#contract/scopes.ts";
import { planLifetimeMs } from "#domain/access/plan-tokens.ts";
import { isRecord } from "#kernel/values.ts";
import { createFakePlanSeals } from "../fakes/plan-seals.ts";
import { callOf } from "./calls.ts";
import { reasonOf, send, type TestReply, type TestRequest, turns } from "./harness.ts";
import { createMutableServices } from "./mutable-services.ts";
import { changedOf, type MutableService, type MutationName, mutations, prepareMutation, resize } from "./mutations.ts";
import { elevatedSession } from "./passkeys.ts";

interface Plan {
  readonly steps: readonly string[];
  readonly plan_token: string;
  readonly plan_expires_at: string;
}

const start = createMutableServices();

const dry = (request: TestRequest): TestRequest => ({ ...request, path: `${request.path}?dry_run=true` });
const withToken = (request: TestRequest, token: string, headers: TestRequest["headers"] = {}): TestRequest => ({
  ...request,
  headers: { ...request.headers, ...headers, "x-plan-token": token },
});
const planOf = async (service: MutableService, request: TestRequest): Promise<Plan> => {
  const { status, json } = await send(service, dry(request));
  expect(status).toBe(200);
  return json as Plan;
};
/** What a refusal says has come, and what has gone. */
const differenceIn = ({ json }: TestReply): readonly string[] => {
  type Difference = Partial<Record<"added" | "missing", readonly string[]>>;
  const { details } = (json as { error: { details: Difference & { approval?: { changed: Difference } } } }).error;
  const { added = [], missing = [] } = details.approval?.changed ?? details;
  return [...added, ...missing];
};
/** What is recorded of a mutation that was started and ended. */
const doneBy = ({ audit }: MutableService, name: string): readonly string[] =>
  audit.entries.filter((each) => each.operation === name && !each.dry_run).map(({ outcome }) => outcome);

/** What mutations leave on the host and in the service. */
const traces = (service: MutableService): unknown => [
  [...service.units.actions],
  [...service.processes.sent],
  [...service.packageManager.calls, ...service.packageManager.started],
  [...service.packageManager.packages.values()],
  service.operationStore.ids(),
  [...service.reboots.messages],
  service.provider.calls.length,
  service.service.keyring.list().length,
  service.service.sessions.list().length,
  [...service.plugins.enabled.all()],
];

const movable = mutations.flatMap(([name]) => {
  const change = changedOf(name);
  return typeof change === "string" ? [] : ([[name, change]] as const);
});

/** What a page does; for all others a key in the header asks. */
const ofPages = ["createSession", "elevateSession", "createPasskey"] as const;
type Changing = MutationName | (typeof ofPages)[number];
const isOfPage = (name: Changing): name is (typeof ofPages)[number] => ofPages.some((each) => each === name);
const all: readonly Changing[] = [...mutations.map(([name]) => name), ...ofPages];

/** A call that succeeds, and the same call of the same key again. */
async function callsOf(service: MutableService, name: Changing) {
  const first = await callOf(service, name);
  // The halves of its session are no longer valid once it is elevated.
  const again = () => (name === "elevateSession" ? callOf(service, name) : Promise.resolve(first));
  return { first, again };
}
/** The call by another key, wherever that is. */
const as = async (service: MutableService, call: TestRequest, key: string): Promise<TestRequest> => ({
  ...call,
  ...(call.key !== undefined && { key }),
  ...(isRecord(call.body) && "key" in call.body && { body: { key } }),
  ...(call.headers?.["cookie"] !== undefined && { headers: await elevatedSession(service, key) }),
});

describe("the plan of every mutation", () => {
  it("is tested of every operation that changes something", () => {
    const changing = Object.entries<Operation>(operations).filter(([, { effect }]) => effect !== "read");
    expect(all.toSorted()).toEqual(changing.map(([name]) => name).toSorted());
  });

  it.each(all)("%s is carried out once, also where times and sizes have changed", async (name) => {
    const service = await start();
    const { first, again } = await callsOf(service, name);
    const { plan_token: token, plan_expires_at: end } = await planOf(service, first);
    // Waiting for what it began may have taken some of it.
    expect(Date.parse(end) - service.clock.now()).toBeGreaterThan(planLifetimeMs - 10_000);
    await service.clock.advance(5_000);
    if (!isOfPage(name)) resize(service, name);
    const answer = await send(service, withToken(first, token));
    expect([answer.status < 300, answer.text]).toEqual([true, answer.text]);
    expect(reasonOf(await send(service, withToken(await again(), token)))).toEqual([409, "plan_used"]);
  });

  it.each(movable)("%s is refused when what it would do has changed", async (name, change) => {
    const service = await start();
    const request = { key: service.admin, ...(await prepareMutation(service, name)) };
    const { plan_token: token, steps } = await planOf(service, request);
    expect(steps).not.toEqual([]);
    await change(service, request);
    const before = traces(service);
    const refused = await send(service, withToken(request, token));
    expect([...reasonOf(refused), refused.text]).toEqual([409, "plan_changed", refused.text]);
    // An approval has the difference itself, since its plan is kept.
    expect(differenceIn(refused), refused.text).not.toEqual([]);
    expect(traces(service)).toEqual(before);
    expect(doneBy(service, name).filter((outcome) => outcome === "ok")).toEqual([]);
  });

  it.each(all)("%s is accepted for nothing else", async (name) => {
    const service = await start();
    const { first, again } = await callsOf(service, name);
    const { plan_token: token } = await planOf(service, first);
    const before = doneBy(service, name).length;
    const [otherName] = mutations.find(([each]) => each !== name) ?? ["fixCheck"];
    const other = { key: service.admin, ...(await prepareMutation(service, otherName)) };
    // Not of its last character, whose last bits may be padding.
    const touched = token.replace(/.(?=.{9}$)/, (each) => (each === "A" ? "B" : "A"));
    const further = service.key(scopes);
    const stranger = await start();
    const answers = {
      "another operation": await send(service, withToken(other, token)),
      "another key": await send(service, withToken(await as(service, first, further), token)),
      "another host": await send(stranger, withToken(await callOf(stranger, name), token)),
      "a token that was touched": await send(service, withToken(first, touched)),
    };
    for (const [what, answer] of Object.entries(answers))
      expect([what, ...reasonOf(answer)]).toEqual([what, 409, "plan_mismatch"]);
    for (const malformed of ["", "x", `${token}, ${token}`, `${token} `.repeat(200)]) {
      const { status, json } = await send(service, withToken(first, malformed));
      expect([status, json]).toMatchObject([400, { error: { details: { field: "X-Plan-Token" } } }]);
    }
    // Sign-ins and elevations make the calls of a page.
    const done = doneBy(service, name).slice(before);
    if (!isOfPage(name)) expect(done.filter((outcome) => outcome === "ok")).toEqual([]);
    await service.clock.advance(planLifetimeMs);
    expect(reasonOf(await send(service, withToken(await again(), token)))).toEqual([409, "plan_expired"]);
  });
});

describe("other arguments of the same operation", () => {
  const others: readonly (readonly [string, MutationName, (request: TestRequest) => TestRequest])[] = [
    [
      "another name in the path",
      "stopService",
      (request) => ({ ...request, path: request.path.replace("cron", "backup") }),
    ],
    ["a member more in the query", "explainCheck", (request) => ({ ...request, path: `${request.path}?preview=true` })],
    ["a member more in the body", "stopService", (request) => ({ ...request, body: { confirm: true } })],
    ["a member less in the body", "createSnapshot", (request) => ({ ...request, body: {} })],
    [
      "another value in the body",
      "signalProcess",
      (request) => ({ ...request, body: { ...(request.body as object), signal: "KILL" } }),
    ],
    [
      "a longer list in the body",
      "removePackages",
      (request) => ({ ...request, body: { packages: ["viewer", "editor"] } }),
    ],
    ["another list in the body", "createToken", (request) => ({ ...request, body: { scopes: ["system:read"] } })],
  ];

  it.each(others)("need another token: %s", async (_, name, differ) => {
    const service = await start();
    const request = { key: service.admin, ...(await prepareMutation(service, name)) };
    const { plan_token: token } = await planOf(service, request);
    const before = traces(service);
    expect(reasonOf(await send(service, withToken(differ(request), token)))).toEqual([409, "plan_mismatch"]);
    expect(traces(service)).toEqual(before);
    expect((await send(service, withToken(request, token))).status).toBeLessThan(300);
  });

  it("are the same ones in another order, or with a query that says it is not a dry run", async () => {
    const service = await start();
    const request = { key: service.admin, ...(await prepareMutation(service, "signalProcess")) };
    const { plan_token: token } = await planOf(service, request);
    const body = Object.fromEntries(Object.entries(request.body as object).toReversed());
    const same = { ...request, body, path: `${request.path}?dry_run=false` };
    expect((await send(service, withToken(same, token))).status).toBe(200);
  });
});

describe("a plan", () => {
  const updates: TestRequest = { method: "POST", path: "/api/v1/updates/apply", body: {} };

  it("is refused when its steps have changed, with the new plan", async () => {
    const service = await start();
    const request = { ...updates, key: service.admin };
    service.packageManager.repository.set("editor", { version: "2.0", isSecurity: false });
    const { plan_token: token, steps } = await planOf(service, request);
    service.packageManager.repository.set("editor", { version: "3.0", isSecurity: false });
    const refused = await send(service, withToken(request, token));
    expect(reasonOf(refused)).toEqual([409, "plan_changed"]);
    const { plan } = (refused.json as { error: { details: { plan: Plan } } }).error.details;
    expect([steps.join(), plan.steps.join()]).toEqual([
      expect.stringContaining("to 2.0"),
      expect.stringContaining("to 3.0"),
    ]);
    expect(service.packageManager.packages.get("editor")?.version).toBe("1.0");
    // The token was not used by that: when all is as it was, it is good.
    service.packageManager.repository.set("editor", { version: "2.0", isSecurity: false });
    expect((await send(service, withToken(request, token))).status).toBe(200);
    expect(service.packageManager.packages.get("editor")?.version).toBe("2.0");
    expect(reasonOf(await send(service, withToken(request, plan.plan_token)))).toEqual([409, "plan_changed"]);
  });

  it("has another token each time, of which each is accepted", async () => {
    const service = await start();
    const request = { key: service.admin, ...(await prepareMutation(service, "restartService")) };
    const tokens = [await planOf(service, request), await planOf(service, request)].map((plan) => plan.plan_token);
    expect(new Set(tokens).size).toBe(2);
    for (const token of tokens) expect((await send(service, withToken(request, token))).status).toBe(200);
  });

  it("is carried out for one of many requests at the same time", async () => {
    const service = await start();
    const request = { key: service.admin, ...(await prepareMutation(service, "restartService")) };
    const { plan_token: token } = await planOf(service, request);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(service, withToken(request, token))));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(19);
  });

  it("is not carried out where its use cannot be recorded", async () => {
    const planSeals = createFakePlanSeals();
    const service = await start({ planSeals });
    const request = { key: service.admin, ...(await prepareMutation(service, "restartService")) };
    const { plan_token: token } = await planOf(service, request);
    planSeals.fault = Object.assign(new Error("no space left on device"), { code: "ENOSPC", syscall: "write" });
    expect((await send(service, withToken(request, token))).status).toBe(503);
    expect(service.units.actions).toEqual([]);
    planSeals.fault = undefined;
    expect((await send(service, withToken(request, token))).status).toBe(200);
  });

  it("is not evaluated for a credential without the scope", async () => {
    const service = await start();
    const request = { key: service.admin, ...(await prepareMutation(service, "restartService")) };
    const { plan_token: token } = await planOf(service, request);
    const narrow = service.key(["system:read"]);
    const { status } = await send(service, withToken({ ...request, key: narrow }, token));
    expect(status).toBe(403);
    expect((await send(service, withToken({ ...request, key: "stw_nokey" }, token))).status).toBe(401);
  });
});

/** Holds back the next call of a method until it is released. */
function holdNext<T extends object>(port: T, method: keyof T) {
  const real = port[method] as (...given: unknown[]) => unknown;
  const called = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  Object.assign(port, {
    async [method](...given: unknown[]) {
      Object.assign(port, { [method]: real });
      called.resolve();
      await released.promise;
      // Anyone who awaits it continues before what comes next.
      setImmediate(ended.resolve);
      return real(...given);
    },
  });
  const release = (): Promise<void> => {
    released.resolve();
    return ended.promise;
  };
  return { called: called.promise, release };
}

describe("a client that goes away while its call is planned again", () => {
  const connections = (service: MutableService): Promise<number> =>
    new Promise((resolve) => service.app.server.getConnections((_, count) => resolve(count)));

  /** Sends a call with the token of its plan, and is gone before it was planned again. */
  async function goAway(service: MutableService, request: TestRequest, held: ReturnType<typeof holdNext>) {
    const url = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const gone = new AbortController();
    const call = fetch(`${url}${request.path}`, {
      method: request.method ?? "GET",
      headers: { "x-api-key": service.admin, "content-type": "application/json", ...request.headers },
      body: JSON.stringify(request.body ?? {}),
      signal: gone.signal,
    }).catch(() => undefined);
    await held.called;
    gone.abort();
    await call;
    while ((await connections(service)) > 0) await new Promise(setImmediate);
    await held.release();
    await turns(50);
  }

  it("has done nothing, and its token is still accepted: for a call that ends with its request", async () => {
    const service = await start();
    const request = { key: service.admin, ...(await prepareMutation(service, "stopService")) };
    const { plan_token: token } = await planOf(service, request);
    await goAway(service, withToken(request, token), holdNext(service.units, "read"));
    expect(service.units.actions).toEqual([]);
    expect((await send(service, withToken(request, token))).status).toBe(200);
    expect(service.units.actions).toEqual(["stop cron.service"]);
  });

  it("has done nothing, and its token is still accepted: for a call that outlives its request", async () => {
    const service = await start();
    const request = { key: service.admin, ...(await prepareMutation(service, "applyUpdates")) };
    const { plan_token: token } = await planOf(service, request);
    const keyed = withToken(request, token, { "idempotency-key": "one" });
    await goAway(service, keyed, holdNext(service.packageManager, "plan"));
    expect(service.operationStore.ids()).toEqual([]);
    expect((await send(service, keyed)).status).toBe(200);
    expect(service.operationStore.ids()).toHaveLength(1);
  });

  it("has proposed nothing", async () => {
    const service = await start();
    service.service.replaceApprovals({ requireFor: ["services:stop"], approvers: 1, expireMs: 3_600_000 });
    const request = { key: service.admin, ...(await prepareMutation(service, "stopService")) };
    const { plan_token: token } = await planOf(service, request);
    await goAway(service, withToken(request, token), holdNext(service.units, "read"));
    expect((await send(service, { path: "/api/v1/approvals", key: service.admin })).json).toMatchObject({ total: 0 });
    expect((await send(service, withToken(request, token))).status).toBe(202);
  });

  it("and approves a call has it carried out, once", async () => {
    const service = await start();
    const request = { ...(await prepareMutation(service, "stopService")), key: service.key(["propose:services:stop"]) };
    const { id } = (await send(service, request)).json as { id: string };
    const approve: TestRequest = { method: "POST", path: `/api/v1/approvals/${id}/approve` };
    await goAway(service, approve, holdNext(service.units, "read"));
    const { json } = await send(service, { path: `/api/v1/approvals/${id}?wait=5s`, key: service.admin });
    expect(json).toMatchObject({ status: "done", decided_by: { key_id: service.admin.slice(4, 12) } });
    expect(service.units.actions).toEqual(["stop cron.service"]);
    expect(reasonOf(await send(service, { ...approve, key: service.admin }))).toEqual([409, "decided"]);
  });
});
