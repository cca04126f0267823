import { afterEach, describe, expect, it } from "vitest";
import type { Operation } from "#contract/operation.ts";
import { scopes } from "#contract/scopes.ts";
import type { AnswerFiles, KeptAnswer } from "#transports/http/idempotency.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { partOf } from "../support/breadth.ts";
import { errorWith, send, startTestService, type TestReply, type TestRequest, type TestService } from "./harness.ts";
import {
  type MutableService,
  type MutationName,
  mutations,
  prepareMutation,
  startMutableService,
} from "./mutations.ts";

const posts = mutations.filter(([, { method }]) => method === "POST");
const services: TestService[] = [];
afterEach(async () => {
  for (const { app } of services.splice(0)) await app.close();
});
async function start(overrides?: Parameters<typeof startMutableService>[0]): Promise<MutableService> {
  const service = await startMutableService(overrides);
  services.push(service);
  return service;
}

const replayed = ({ headers }: TestReply): boolean => headers["idempotent-replayed"] === "true";
const idOf = (key: string): string => key.slice(4, 12);

/** Credentials of the admin's key, each with its scopes. */
function credentialsOf({ service, admin, clock }: TestService, operation: Operation) {
  const own = [operation.scope, ...(operation.alsoNeeds ?? [])].filter((scope) => scope !== "self");
  const resource = operation.resource?.({ name: "tool", check_id: "vital" }) ?? "local";
  const tokens: Readonly<Record<string, readonly string[]>> = {
    "a token with all scopes": scopes,
    "another one, with its scopes in another order": scopes.toReversed(),
    "a token that may read alone": ["system:read"],
    "a token without scopes": [],
    "a token with the scopes of the operation": own,
    "a token narrowed to a resource": own.map((scope) => `${scope}:${resource}`),
    "a token narrowed to another resource": own.map((scope) => `${scope}:something-else`),
  };
  const made = Object.entries(tokens).map(([name, held]) => ({
    name,
    text: service.keyring.createToken(idOf(admin), held, clock.now() + 3_600_000),
    rights: held.toSorted().join(" "),
  }));
  return [{ name: "the key", text: admin, rights: scopes.toSorted().join(" ") }, ...made];
}

/** The answer to the first call by one credential, and to a repetition of it by another one. */
async function callTwice(
  service: MutableService,
  request: TestRequest,
  [giver, taker]: readonly [string, string],
): Promise<readonly [TestReply, TestReply]> {
  const headers = { "idempotency-key": crypto.randomUUID() };
  const by = (text: string) => send(service, { ...request, headers: { ...headers, authorization: `Bearer ${text}` } });
  return [await by(giver), await by(taker)];
}

const secretsIn = (reply: TestReply): readonly string[] =>
  reply.text.match(/st[wtc]_[0-9A-Za-z]{8}_[0-9A-Za-z]{49}/g) ?? [];

describe.each(posts)("an answer to %s", (name: MutationName, operation) => {
  it("is repeated to callers with the same rights alone, whichever credentials of one key they have", async () => {
    const service = await start();
    const credentials = credentialsOf(service, operation);
    let repeated = 0;
    for (const [at, giver] of credentials.entries()) {
      for (const taker of new Set([giver, ...partOf(credentials, at)])) {
        const request = await prepareMutation(service, name);
        const [first, second] = await callTwice(service, request, [giver.text, taker.text]);
        const pair = `${giver.name}, then ${taker.name}: ${first.status} ${second.status}`;
        const isSame = giver.rights === taker.rights;
        if (first.status < 400) expect([pair, replayed(second)]).toEqual([pair, isSame]);
        else expect([pair, replayed(second) && !isSame]).toEqual([pair, false]);
        for (const secret of secretsIn(first)) expect([pair, second.text]).not.toContain(secret);
        if (replayed(second) && operation.answerIsSecret === undefined) {
          expect([pair, second.status, second.text]).toEqual([pair, first.status, first.text]);
          repeated += 1;
        }
        // An operation that outlives its request is found by anyone who began it alone.
        const calls = service.audit.entries.filter(({ operation: each }) => each === name);
        const [started, found] = calls.slice(-2).map(({ operation_id: id }) => id);
        if (!isSame && started != null) expect([pair, found]).not.toEqual([pair, started]);
        await service.clock.advance(60_000);
      }
    }
    if (operation.answerIsSecret === undefined) expect(repeated).toBeGreaterThan(0);
  });

  it("is not repeated to another key, with the same scopes or others, nor after a restart of the service", async () => {
    const disk = new Map<string, KeptAnswer>();
    const answerFiles: AnswerFiles = {
      load: () => [...disk.values()],
      save: (kept) => void disk.set(kept.id, kept),
      remove: (id) => void disk.delete(id),
    };
    const store = createFakeKeyStore();
    const before = await start({ answerFiles, store });
    const other = before.key(scopes);
    const narrow = before.service.keyring.createToken(idOf(before.admin), ["system:read"], before.clock.now() + 60_000);
    const request = await prepareMutation(before, name);
    const headers = { "idempotency-key": "over a restart" };
    const first = await send(before, { ...request, key: before.admin, headers });
    expect(first.status).toBeLessThan(400);
    for (const kept of disk.values()) expect(kept.answer.body).not.toMatch(/st[wt]_[0-9A-Za-z]{8}_/);

    const after = await start({ answerFiles, store });
    const again = await prepareMutation(after, name);
    for (const key of [other, narrow]) {
      expect(replayed(await send(after, { ...again, path: request.path, key, headers }))).toBe(false);
    }
    const repeated = await send(after, { ...request, key: before.admin, headers });
    expect([replayed(repeated), repeated.status]).toEqual([
      true,
      operation.answerIsSecret === undefined ? first.status : 409,
    ]);
  });
});

describe("an answer that holds a secret", () => {
  const secrets = posts.filter(([, { answerIsSecret }]) => answerIsSecret);

  it("is that of every operation whose answer has a member for a key or a token", () => {
    const named = mutations.filter(([, { response }]) => {
      const members = Object.entries((response as { properties?: Record<string, { type?: string }> }).properties ?? {});
      return members.some(
        ([name, { type }]) => type === "string" && /(^|_)(key|token|secret|password|code)$/.test(name),
      );
    });
    expect(named.map(([name]) => name)).toEqual(secrets.map(([name]) => name));
    expect(secrets.length).toBeGreaterThan(0);
  });

  it.each(secrets)("is not given twice by %s: the repetition says what was made", async (name) => {
    const service = await start();
    const request = await prepareMutation(service, name);
    const [first, second] = await callTwice(service, request, [service.admin, service.admin]);
    expect(secretsIn(first)).toHaveLength(1);
    expect([second.status, replayed(second), secretsIn(second)]).toEqual([409, true, []]);
    const made = name === "createKey" ? { id: (first.json as { id: string }).id } : { expires_at: expect.any(String) };
    expect(second.json).toMatchObject(errorWith("CONFLICT", { made, retryable: false }));
    expect(service.audit.entries.at(-1)).toMatchObject({ replayed: true, status: 409, error: "CONFLICT" });
  });

  it("is not kept for a dry run and a refusal, which are repeated as they were", async () => {
    const service = await start();
    const path = "/api/v1/auth/tokens";
    for (const [request, status] of [
      [{ method: "POST", path: `${path}?dry_run=true`, body: {} }, 200],
      [{ method: "POST", path, body: { expires_in: 0 } }, 400],
    ] as const) {
      const [first, second] = await callTwice(service, request, [service.admin, service.admin]);
      expect([first.status, second.status, replayed(second), second.text]).toEqual([status, status, true, first.text]);
    }
  });

  it("can be used to revoke the key whose text was lost", async () => {
    const service = await start();
    const request = await prepareMutation(service, "createKey");
    const [, second] = await callTwice(service, request, [service.admin, service.admin]);
    const { id } = (second.json as { error: { details: { made: { id: string } } } }).error.details.made;
    const revoked = await send(service, { method: "DELETE", path: `/api/v1/auth/keys/${id}`, key: service.admin });
    expect([revoked.status, revoked.json]).toMatchObject([200, { success: true }]);
  });
});

describe("a repetition that comes while the first call is at work", () => {
  const path = "/api/v1/connectors/chat";
  const body = { connector: "local", messages: [{ role: "user", content: "Hello" }] };
  const headers = { "idempotency-key": "at work" };

  /** A call that waits for the provider, until the function is called. */
  async function begin(service: MutableService) {
    const release = service.provider.hold();
    const first = send(service, { method: "POST", path, body, key: service.admin, headers });
    while (service.provider.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    return { first, release };
  }
  const tokenOf = ({ service, admin, clock }: TestService, held: readonly string[], lifeMs = 3_600_000): string =>
    service.keyring.createToken(idOf(admin), held, clock.now() + lifeMs);

  it("is a call of its own for another caller", async () => {
    const service = await start();
    const { first, release } = await begin(service);
    const by = (held: readonly string[]) => {
      const authorization = `Bearer ${tokenOf(service, held)}`;
      return send(service, { method: "POST", path, body, headers: { ...headers, authorization } });
    };
    expect((await by(["system:read"])).status).toBe(403);
    expect((await by(["connectors:chat:other"])).status).toBe(403);
    const own = by(["connectors:chat"]);
    while (service.provider.calls.length < 2) await new Promise((resolve) => setImmediate(resolve));
    release();
    expect([(await first).status, (await own).status, replayed(await own)]).toEqual([200, 200, false]);
  });
});

describe("a repetition", () => {
  it("draws on the rate limit, and is not answered beyond it", async () => {
    const service = await startTestService({ rateLimits: { perMinute: 2, perHour: 1000 } });
    services.push(service);
    const call: TestRequest = {
      method: "POST",
      path: "/api/v1/system/services/cron/restart",
      key: service.admin,
      headers: { "idempotency-key": "often" },
    };
    const replies = [await send(service, call), await send(service, call), await send(service, call)];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(replies.map(replayed)).toEqual([false, true, false]);
  });
});
