import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Judgement } from "#contract/auth.ts";
import type { ErrorBody } from "#contract/error-body.ts";
import { operations } from "#contract/index.ts";
import { canWait, type Operation, type Plan } from "#contract/operation.ts";
import { isGateable, roles, scopes } from "#contract/scopes.ts";
import { createFakeCalendar } from "../fakes/calendar.ts";
import { type Asked, askWhether, freezeScopes, judgement } from "./can.ts";
import { printed, runInProcess } from "./cli-run.ts";
import {
  messageOf,
  pathOf,
  send,
  sessionOf,
  startTestService,
  type TestReply,
  type TestRequest,
  type TestService,
} from "./harness.ts";
import { type MutableService, mutations, prepareMutation, startMutableService } from "./mutations.ts";

let service: TestService;
beforeEach(async () => {
  service = await startTestService({ metricsPublic: "never" });
});
afterEach(() => {
  service.service.cut();
  return service.app.close();
});

const ask = (...call: Asked) => askWhether(service, ...call);
const judged = (...call: Asked): Promise<Judgement> => judgement(service, ...call);
const freeze = (...deny: readonly string[]): void => freezeScopes(service, deny);

const rows = Object.entries<Operation>(operations);

describe("whether something is allowed", () => {
  it("is answered to every key, of its own credential alone", async () => {
    const key = service.key([]);
    expect(await judged(key, "whoami")).toEqual({
      operation: "whoami",
      resource: null,
      allowed: true,
      because: [{ kind: "scope", message: "any valid key may do it" }],
    });
    expect((await send(service, { path: "/api/v1/auth/can?operation=whoami" })).status).toBe(401);
  });

  it("depends on the resource, by its short name too", async () => {
    const key = service.key(["services:restart:nginx", "packages:install:nginx"]);
    expect(await judged(key, "restartService", "nginx")).toMatchObject({
      allowed: true,
      because: [{ kind: "scope", message: "this key has the scope services:restart:nginx" }],
    });
    expect(await judged(key, "restartService", "cron")).toMatchObject({
      allowed: false,
      because: [{ kind: "scope", message: "this key lacks the scope services:restart:cron.service" }],
    });
    expect(await judged(key, "restartService")).toMatchObject({ allowed: false });
    expect(await judged(key, "installPackages", "nginx")).toMatchObject({ allowed: true });
    expect(await judged(key, "installPackages", "vim")).toMatchObject({ allowed: false });
    expect(await judged(key, "installPackages")).toMatchObject({ allowed: true });
  });

  it("names what the key was given, and what it was given for other hosts", async () => {
    const named = await startTestService({ hostName: () => "web-1.example.org" });
    const restartOf = async (granted: readonly string[]) => {
      const key = named.key(granted);
      const { allowed, because } = await judgement(named, key, "restartService", "nginx");
      const reply = await send(named, { method: "POST", path: "/api/v1/system/services/nginx/restart", key });
      if (!allowed) expect([reply.status, messageOf(reply)]).toEqual([403, because[0]?.message]);
      return because.map(({ kind, message }) => `${kind}: ${message}`);
    };
    const has = (entry: string) => [`scope: this key has the scope ${entry}`];
    const lacks = "scope: this key lacks the scope services:restart:nginx.service";
    expect(await restartOf(["services:read", "services:restart"])).toEqual(has("services:restart"));
    expect(await restartOf(roles.operator)).toEqual(has("services:restart"));
    expect(await restartOf(["services:restart:cron", "services:restart:ngi*"])).toEqual(has("services:restart:ngi*"));
    expect(await restartOf(["services:restart@db-*", "services:restart@web-*"])).toEqual(has("services:restart@web-*"));
    expect(await restartOf(["services:restart:nginx", "services:restart"])).toEqual(has("services:restart:nginx"));
    expect(await restartOf(["services:restart@elsewhere"])).toEqual([
      `${lacks} on this host: it has services:restart@elsewhere`,
    ]);
    expect(await restartOf(["propose:services:restart@db-1", "services:restart:nginx.service@db-2"])).toEqual([
      `${lacks} on this host: it has propose:services:restart@db-1, services:restart:nginx.service@db-2`,
    ]);
    for (const other of ["services:restart:cron.service@elsewhere", "services:stop@elsewhere", "services:restart:cron"])
      expect(await restartOf([other])).toEqual([lacks]);

    const some = named.key(["packages:install:nginx", "packages:install:vim@web-1", "packages:install:mutt@elsewhere"]);
    const message = "this key has the scopes packages:install:nginx, packages:install:vim@web-1";
    expect(await judgement(named, some, "installPackages")).toMatchObject({ because: [{ kind: "scope", message }] });
    await named.app.close();
  });

  it.each<readonly [string, readonly string[], string, TestRequest]>([
    [
      "packages that are installed",
      ["packages:install:vim", "packages:install@db-*"],
      "packages:install:nginx",
      { method: "POST", path: "/api/v1/packages/install", body: { packages: ["nginx"] } },
    ],
    [
      "packages that are held",
      ["packages:hold:vim", "packages:hold:nginx@db-1"],
      "packages:hold:nginx",
      { method: "POST", path: "/api/v1/packages/hold", body: { packages: ["nginx"] } },
    ],
    [
      "the log of a unit",
      ["logs:read:nginx", "logs:read@db-*"],
      "logs:read:cron.service",
      { path: "/api/v1/system/logs?unit=cron" },
    ],
    ["the journal's size", ["logs:read:nginx", "logs:read@db-*"], "logs:read", { path: "/api/v1/system/logs/usage" }],
    [
      "command lines",
      ["processes:read", "processes:commands@db-*"],
      "processes:commands",
      { path: "/api/v1/system/processes?full_command=true" },
    ],
    [
      "a connector",
      ["connectors:chat:other", "connectors:chat@db-*"],
      "connectors:chat:main",
      {
        ...{ method: "POST", path: "/api/v1/connectors/chat" },
        body: { connector: "main", messages: [{ role: "user", content: "?" }] },
      },
    ],
  ])("names what the key was given for other hosts where only the handler knows what is needed: %s", async (...row) => {
    const [, granted, required, request] = row;
    const reply = await send(service, { ...request, key: service.key(granted) });
    const message = `this key lacks the scope ${required} on this host: it has ${granted[1]}`;
    expect([reply.status, messageOf(reply)]).toEqual([403, message]);
  });

  it("names the window that allows it, and the override", async () => {
    service.service.replaceWindows([
      {
        ...{ name: "night", cron: "", timezone: undefined, allow: ["services:restart"], deny: [], isSilent: false },
        times: { calendar: createFakeCalendar(86_400_000), durationMs: 3_600_000, delayMs: 0 },
      },
    ]);
    expect(await judged(service.admin, "restartService", "cron")).toMatchObject({
      allowed: true,
      because: [
        { kind: "scope" },
        { kind: "window", message: "the window night is open until 2026-01-01T01:00:00.000Z" },
      ],
    });
    await service.clock.advance(3_600_000);
    expect(await judged(service.admin, "restartService", "cron")).toMatchObject({
      allowed: false,
      because: [{ kind: "window" }, { message: expect.stringContaining("windows:override: with a reason") }],
    });
  });

  it("follows the scopes of a fix, and its windows", async () => {
    service.fixes.repair.alsoNeeds = ["updates:apply"];
    const narrow = service.key(["health:fix"]);
    // What is found decides which one is carried out.
    expect(await judged(narrow, "fixCheck", "vital")).toMatchObject({ allowed: true });
    service.fixes.rebuild.alsoNeeds = ["updates:apply", "services:restart"];
    service.checks.vital.finds = "fail";
    const sameAsTheCall = async (key: string, status: number, kind: "scope" | "window"): Promise<void> => {
      const judgement = await judged(key, "fixCheck", "vital");
      const reply = await send(service, { method: "POST", path: "/api/v1/health/checks/vital/fix", key });
      const because = [{ kind, message: messageOf(reply) }];
      expect([reply.status, judgement]).toMatchObject([status, { allowed: false, because }]);
    };
    await sameAsTheCall(narrow, 403, "scope");
    await sameAsTheCall(service.key(["updates:apply"]), 403, "scope");
    const wide = service.key(["health:fix", "updates:apply"]);
    expect(await judged(wide, "fixCheck", "vital")).toMatchObject({ allowed: true, because: [{ kind: "scope" }] });
    expect(await judged(narrow, "fixCheck", "no_such_check")).toMatchObject({ allowed: true });
    freeze("updates:apply");
    await sameAsTheCall(wide, 409, "window");
  });

  it("refuses unknown operations and misplaced resources", async () => {
    const reply = await ask(service.admin, "restartServise");
    expect([reply.status, messageOf(reply)]).toEqual([
      400,
      'cannot accept operation: there is no operation "restartServise" (did you mean restartService?)',
    ]);
    for (const name of ["toString", "__proto__", "x\u001b[2J", "x".repeat(65)])
      expect([name, (await ask(service.admin, name)).status]).toEqual([name, 400]);
    expect((await ask(service.admin, "listKeys", "x")).status).toBe(400);
    expect((await ask(service.admin, "revokeKey", "x")).status).toBe(200);
    expect((await send(service, { path: "/api/v1/auth/can", key: service.admin })).status).toBe(400);
  });

  it("is printed by steward keys explain", async () => {
    const url = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const key = service.key(["services:restart:nginx"]);
    const steward = (...argv: readonly string[]) =>
      runInProcess(argv, { environment: { STEWARD_URL: url, STEWARD_API_KEY: key } });
    expect(await steward("keys", "explain", "restartService", "nginx")).toEqual(
      printed("restartService nginx: allowed\n  scope: this key has the scope services:restart:nginx\n"),
    );
    expect(await steward("keys", "explain", "rebootHost")).toEqual({
      code: 1,
      out: "rebootHost: not allowed\n  scope: this key lacks the scope system:reboot\n",
      err: "",
    });
  });
});

it("GET /auth/can reports a used-up budget of the key, without using more of it", async () => {
  const limited = await startTestService({ rateLimits: { perMinute: 2, perHour: 1000 } });
  const call = (path: string) => send(limited, { path: `/api/v1${path}`, key: limited.admin });
  expect((await call("/auth/can?operation=whoami")).json).toMatchObject({ allowed: true });
  const { json } = await call("/auth/can?operation=whoami");
  const refused = await call("/auth/whoami");
  expect(refused.status).toBe(429);
  expect(json).toMatchObject({ allowed: false, because: [{ kind: "limit", message: messageOf(refused) }] });
  await limited.app.close();
});

describe("a call that others have to approve", () => {
  it("is allowed, with the message of its plan", async () => {
    const key = service.key(["propose:services:restart"]);
    const message =
      "this key has services:restart:cron.service only as propose:services:restart:cron.service: it is carried out once another key has approved it";
    const because = [{ kind: "approval", message }];
    expect(await judged(key, "restartService", "cron")).toMatchObject({ allowed: true, because });
    const path = "/api/v1/system/services/cron/restart?dry_run=true";
    const plan = await send(service, { method: "POST", path, key });
    expect(plan.json).toMatchObject({ needs_approval: { message } });
    expect(await judged(key, "stopService", "cron")).toMatchObject({ allowed: false, because: [{ kind: "scope" }] });
    expect(await judged(key, "listServices")).toMatchObject({ allowed: false });
    freeze("services:restart");
    const held = await judged(key, "restartService", "cron");
    expect([held.allowed, held.because.map(({ kind }) => kind)]).toEqual([true, ["approval", "window"]]);
  });
});

/** The answer that a mutation which can succeed gets, and what is said of it beforehand. */
describe("the judgement of a call is its answer", () => {
  const services: MutableService[] = [];
  const start = async (): Promise<MutableService> => {
    const made = await startMutableService();
    services.push(made);
    return made;
  };
  afterEach(async () => {
    for (const { app } of services.splice(0)) await app.close();
  });

  type Credential = Pick<TestRequest, "key" | "headers">;
  const readOnly = (made: MutableService): Credential => ({ headers: sessionOf(made, made.admin) });
  const elevated = (made: MutableService): Credential => ({ headers: sessionOf(made, made.admin, true) });
  const token = async (made: MutableService): Promise<Credential> => {
    const { json } = await send(made, { method: "POST", path: "/api/v1/auth/tokens", key: made.admin });
    return { headers: { authorization: `Bearer ${(json as { access_token: string }).access_token}` } };
  };

  const resourceOf = (operation: Operation, { path }: TestRequest): string | undefined => {
    if (operation.resource === undefined || !operation.path.includes("{")) return undefined;
    const at = operation.path.split("/").findIndex((part) => part.startsWith("{"));
    return path.replace("/api/v1", "").split("/")[at];
  };
  /** Asks beforehand, and calls. */
  async function both(
    made: MutableService,
    name: string,
    operation: Operation,
    request: TestRequest,
    credential: Credential,
  ): Promise<{ reply: TestReply; judgement: Judgement }> {
    const resource = resourceOf(operation, request);
    const query = new URLSearchParams({ operation: name, ...(resource !== undefined && { resource }) });
    const said = await send(made, { path: `/api/v1/auth/can?${query}`, ...credential });
    expect([name, said.status]).toEqual([name, 200]);
    return { reply: await send(made, { ...request, ...credential }), judgement: said.json as Judgement };
  }

  /** A call that is refused is said to be, by the same sentence first; one that succeeds is said to be allowed. */
  function expectSame(name: string, { reply, judgement }: { reply: TestReply; judgement: Judgement }): void {
    const { allowed, because } = judgement;
    if (reply.status < 300) expect([name, allowed, because]).toEqual([name, true, because]);
    else expect([name, allowed, because[0]?.message]).toEqual([name, false, messageOf(reply)]);
  }

  describe.each(mutations)("%s", (name, operation: Operation) => {
    it("by a key, a token, and in a read-only session", async () => {
      for (const credentialOf of [(made: MutableService): Credential => ({ key: made.admin }), token, readOnly]) {
        const made = await start();
        const request = await prepareMutation(made, name);
        expectSame(name, await both(made, name, operation, request, await credentialOf(made)));
      }
    });

    it("in an elevated session, which needs a plan for what is dangerous", async () => {
      const made = await start();
      const session = elevated(made);
      const request = await prepareMutation(made, name);
      const answered = await both(made, name, operation, request, session);
      if (operation.effect !== "danger") {
        expectSame(name, answered);
        return;
      }
      const { reply, judgement } = answered;
      expect([name, reply.status, reply.text]).toEqual([name, 409, expect.stringContaining('"plan_required"')]);
      // It may be done, with what is asked for.
      expect([name, judgement.allowed]).toEqual([name, true]);
      expect(judgement.because).toContainEqual({ kind: "policy", message: messageOf(reply) });
      const { details } = (reply.json as ErrorBody).error as unknown as { details: { plan: Plan } };
      const headers = { ...session.headers, "x-plan-token": details.plan.plan_token ?? "" };
      expect([name, (await send(made, { ...request, headers })).status < 300]).toEqual([name, true]);
    });
  });

  const gateable = mutations.filter(
    ([, operation]) => canWait(operation) && scopes.some((scope) => scope === operation.scope && isGateable(scope)),
  );
  it.each(gateable)("%s waits where others have to approve it", async (name, operation: Operation) => {
    const own = operation.scope;
    const made = await start();
    const request = await prepareMutation(made, name);
    const proposer = made.key(scopes.map((scope) => (scope === own ? `propose:${scope}` : scope)));
    const demand = () => made.service.replaceApprovals({ requireFor: [own], approvers: 1, expireMs: 3_600_000 });
    for (const [key, prepare] of [
      [proposer, () => undefined],
      [made.admin, demand],
    ] as const) {
      prepare();
      const { json } = await send(made, { ...request, path: `${request.path}?dry_run=true`, key });
      const { reply, judgement } = await both(made, name, operation, request, { key });
      expect([name, reply.status, judgement.allowed]).toEqual([name, 202, true]);
      const message = (json as Plan).needs_approval?.message;
      expect(judgement.because).toContainEqual({ kind: "approval", message });
    }
  });

  const forSessions = rows.filter(([, operation]) => operation.forSessions === true);
  it.each(forSessions)("%s is for a session, and refused to a key and a token", async (name, operation) => {
    const made = await start();
    const request = { method: operation.method, path: pathOf(operation) } as const;
    for (const credential of [{ key: made.admin }, await token(made)]) {
      const { reply, judgement } = await both(made, name, operation, request, credential);
      // Faults of a body come first.
      if (operation.body === undefined || reply.status !== 400) expectSame(name, { reply, judgement });
      expect([name, judgement]).toMatchObject([name, { allowed: false, because: [{ kind: "policy" }] }]);
    }
    for (const session of [elevated(made), ...(operation.session === "own" ? [readOnly(made)] : [])]) {
      const { judgement } = await both(made, name, operation, request, session);
      expect([name, judgement.allowed]).toEqual([name, true]);
    }
  });
});
