import { describe, expect, it } from "vitest";
import type { ErrorBody } from "#contract/error-body.ts";
import type { Operation, Plan } from "#contract/operation.ts";
import { type Scope, scopes } from "#contract/scopes.ts";
import { errorWith, reasonOf, send, sessionOf, type TestReply, type TestRequest } from "./harness.ts";
import { createMutableServices } from "./mutable-services.ts";
import { type MutableService, type MutationName, mutations, prepareMutation } from "./mutations.ts";

const start = createMutableServices();

type Headers = Readonly<Record<string, string>>;

const elevated = (service: MutableService, key = service.admin): Headers => sessionOf(service, key, true);
const withHeaders = (request: TestRequest, ...headers: readonly Headers[]): TestRequest => ({
  ...request,
  headers: Object.assign({}, ...headers) as Headers,
});
const tokenOf = ({ plan_token: token = "" }: Plan): Headers => ({ "x-plan-token": token });
const detailsOf = ({ json }: TestReply) => ((json as Partial<ErrorBody>).error?.details ?? {}) as { reason?: string };
const planIn = (reply: TestReply): Plan => (detailsOf(reply) as { plan: Plan }).plan;
/** What was done, as far as the audit log knows. */
const doneBy = ({ audit }: MutableService, name: string) =>
  audit.entries.filter((each) => each.operation === name && !each.dry_run && each.outcome === "ok");

const dangerous = mutations.filter(([, { effect }]) => effect === "danger");
const others = mutations.filter(([, { effect }]) => effect !== "danger");
/** What a session is never admitted to. */
const forKeys: readonly MutationName[] = ["createToken", "createCode"];

describe("in an elevated session", () => {
  it.each(dangerous)("%s is refused with its plan, and done with the token of it", async (name) => {
    const service = await start();
    const session = elevated(service);
    const request = await prepareMutation(service, name);
    const before = doneBy(service, name).length;
    const refused = await send(service, withHeaders(request, session));
    expect([name, ...reasonOf(refused), refused.text]).toEqual([name, 409, "plan_required", refused.text]);
    const plan = planIn(refused);
    const dry = await send(service, withHeaders({ ...request, path: `${request.path}?dry_run=true` }, session));
    const { plan_token: _, plan_expires_at: __, ...shown } = dry.json as Plan;
    expect(plan).toMatchObject(shown);
    expect(doneBy(service, name)).toHaveLength(before);

    const done = await send(service, withHeaders(request, session, tokenOf(plan)));
    expect([name, done.status < 300, done.text]).toEqual([name, true, done.text]);
    expect(doneBy(service, name)).toHaveLength(before + 1);
    expect(reasonOf(await send(service, withHeaders(request, session, tokenOf(plan))))).toEqual([409, "plan_used"]);
  });

  it.each(others)("%s is done without a plan", async (name) => {
    const service = await start();
    const reply = await send(service, withHeaders(await prepareMutation(service, name), elevated(service)));
    expect([name, reply.status < 300]).toEqual([name, !forKeys.includes(name)]);
  });
});

it.each(dangerous)("%s is done without a plan for a key, and for a token of it", async (name, operation: Operation) => {
  for (const credential of ["key", "token"] as const) {
    const service = await start();
    const request = await prepareMutation(service, name);
    const made = await send(service, { method: "POST", path: "/api/v1/auth/tokens", key: service.admin });
    const { access_token: token } = made.json as { access_token: string };
    const headers: Headers = credential === "key" ? {} : { authorization: `Bearer ${token}` };
    const own = credential === "key" ? { key: service.admin } : {};
    const done = await send(service, { ...request, ...own, headers });
    expect([name, credential, done.status < 300, done.text]).toEqual([name, credential, true, done.text]);
  }
  expect(operation.effect).toBe("danger");
});

describe("a plan in an elevated session", () => {
  const stop = (service: MutableService) => prepareMutation(service, "stopService");

  it("is required after the scope and the elevation, and for no dry run", async () => {
    const service = await start();
    const request = await stop(service);
    const narrow = elevated(service, service.key(["system:read"]));
    expect((await send(service, withHeaders(request, narrow))).json).toMatchObject(
      errorWith("FORBIDDEN", { required_scope: "services:stop:cron.service" }),
    );
    const readOnly = sessionOf(service, service.admin);
    expect(reasonOf(await send(service, withHeaders(request, readOnly)))).toEqual([403, "elevation_required"]);
    const can = await send(service, {
      path: "/api/v1/auth/can?operation=stopService&resource=cron.service",
      headers: elevated(service),
    });
    expect(can.json).toMatchObject({ allowed: true });
    expect(service.units.actions).toEqual([]);
  });

  it("is required after the errors of a dry run", async () => {
    const service = await start();
    const request = { method: "POST", path: "/api/v1/system/services/nothing/stop" } as const;
    expect((await send(service, withHeaders(request, elevated(service)))).status).toBe(404);
    const malformed = withHeaders(await stop(service), elevated(service), { "x-plan-token": "" });
    expect((await send(service, malformed)).status).toBe(400);
  });

  /** Denies a scope for as long as a test takes. */
  function freeze({ service }: MutableService, scope: Scope): void {
    const calendar = { latest: (at: number) => at - (at % 86_400_000), next: () => undefined };
    const times = { calendar, durationMs: 2 * 86_400_000, delayMs: 0 };
    const window = { name: "freeze", cron: "0 0 * * *", timezone: "UTC", isSilent: false, times };
    service.replaceWindows([{ ...window, allow: [], deny: [scope] }]);
  }

  it("is required after windows, and again with the reason to override one", async () => {
    const service = await start();
    freeze(service, "services:stop");
    const request = await stop(service);
    const session = elevated(service);
    expect(reasonOf(await send(service, withHeaders(request, session)))).toEqual([409, "outside_window"]);
    const override = { "x-window-override": "it burns" };
    const refused = await send(service, withHeaders(request, session, override));
    expect(reasonOf(refused)).toEqual([409, "plan_required"]);
    const token = tokenOf(planIn(refused));
    expect(reasonOf(await send(service, withHeaders(request, session, token)))).toEqual([409, "outside_window"]);
    expect((await send(service, withHeaders(request, session, override, token))).status).toBe(200);
  });

  it("is required before a call waits for approval, and says that it will", async () => {
    const service = await start();
    const request = await stop(service);
    const list = async () =>
      (await send(service, { path: "/api/v1/approvals", key: service.admin })).json as { total: number };
    service.service.replaceApprovals({ requireFor: ["services:stop"], approvers: 1, expireMs: 3_600_000 });
    const proposes = service.key([...scopes.filter((each) => each !== "services:stop"), "propose:services:stop"]);
    for (const session of [elevated(service), elevated(service, proposes)]) {
      const { total } = await list();
      const refused = await send(service, withHeaders(request, session));
      expect(reasonOf(refused)).toEqual([409, "plan_required"]);
      const plan = planIn(refused);
      expect(plan.needs_approval).toMatchObject({ approvers: 1 });
      expect(await list()).toMatchObject({ total });
      const keyed = withHeaders(request, session, tokenOf(plan), { "idempotency-key": `one ${total}` });
      const parked = await send(service, keyed);
      expect([parked.status, await list()]).toMatchObject([202, { total: total + 1 }]);
      expect((await send(service, keyed)).text).toBe(parked.text);
      expect(reasonOf(await send(service, withHeaders(request, session, tokenOf(plan))))).toEqual([409, "plan_used"]);
    }
    expect(service.units.actions).toEqual([]);
  });

  it("says which window would hold back a call that waits for approval", async () => {
    const service = await start();
    service.service.replaceApprovals({ requireFor: ["updates:apply"], approvers: 1, expireMs: 3_600_000 });
    const request = await prepareMutation(service, "applyUpdates");
    const session = elevated(service);
    const early = await send(service, withHeaders(request, session));
    expect(planIn(early)).not.toHaveProperty("outside_window");
    freeze(service, "updates:apply");
    service.packageManager.repository.set("editor", { version: "9.0", isSecurity: false });
    for (const [reason, headers] of [
      ["plan_required", {}],
      ["plan_changed", tokenOf(planIn(early))],
    ] as const) {
      const refused = await send(service, withHeaders(request, session, headers));
      expect(reasonOf(refused)).toEqual([409, reason]);
      expect(planIn(refused)).toMatchObject({ outside_window: { window: "freeze" }, needs_approval: { approvers: 1 } });
    }
  });

  it("is required to approve a call, which then runs once", async () => {
    const service = await start();
    const session = elevated(service);
    const request = await prepareMutation(service, "approve");
    const refused = await send(service, withHeaders(request, session));
    expect(reasonOf(refused)).toEqual([409, "plan_required"]);
    expect(planIn(refused).steps.join()).toContain("web2");
    const token = tokenOf(planIn(refused));
    const replies = await Promise.all([1, 2, 3].map(() => send(service, withHeaders(request, session, token))));
    expect(replies.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409, 409]);
    expect(doneBy(service, "setHostname").filter(({ status }) => status !== 202)).toHaveLength(1);
  });
});

describe("repetitions in a session", () => {
  const updates = (service: MutableService) => prepareMutation(service, "applyUpdates");
  const keyed = { "idempotency-key": "one" };

  it("get the answer of the call with the token, also without it, and no refusal", async () => {
    const service = await start();
    const session = elevated(service);
    const request = await updates(service);
    const refusals = await Promise.all([1, 2].map(() => send(service, withHeaders(request, session, keyed))));
    const [plan, other] = refusals.map(planIn) as [Plan, Plan];
    expect([...refusals.map(reasonOf), plan.plan_token === other.plan_token]).toEqual([
      [409, "plan_required"],
      [409, "plan_required"],
      false,
    ]);
    const done = await send(service, withHeaders(request, session, keyed, tokenOf(plan)));
    expect(done.status).toBe(200);
    for (const headers of [tokenOf(plan), tokenOf(other), {}]) {
      const again = await send(service, withHeaders(request, session, keyed, headers));
      expect([again.text, again.headers["idempotent-replayed"]]).toEqual([done.text, "true"]);
    }
    expect(service.operationStore.ids()).toHaveLength(1);
  });

  it("find the operation that continues without its request", async () => {
    const service = await start();
    const session = elevated(service);
    const request = await updates(service);
    const async = { prefer: "respond-async" };
    const refused = await send(service, withHeaders(request, session, keyed, async));
    expect([...reasonOf(refused), service.operationStore.ids()]).toEqual([409, "plan_required", []]);
    const call = withHeaders(request, session, keyed, async, tokenOf(planIn(refused)));
    const started = await send(service, call);
    expect(started.status).toBe(202);
    const again = await send(service, call);
    expect([again.status, again.headers["location"]]).toEqual([202, started.headers["location"]]);
    expect(service.operationStore.ids()).toHaveLength(1);
    const restarted = await send(service, withHeaders(request, session, async));
    expect([...reasonOf(restarted), service.operationStore.ids().length]).toEqual([409, "plan_required", 1]);
  });
});
