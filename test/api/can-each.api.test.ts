import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { operations } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { scopes } from "#contract/scopes.ts";
import { freezeScopes, judgement } from "./can.ts";
import { messageOf, pathOf, send, startTestService, type TestService } from "./harness.ts";

/** All of them are refused or only asked about, so one service does for all. */
let service: TestService;
beforeAll(async () => {
  service = await startTestService({ metricsPublic: "never" });
});
afterEach(() => freezeScopes(service, []));
afterAll(() => {
  service.service.cut();
  return service.app.close();
});

const rows = Object.entries<Operation>(operations);

/** The resource of the path that `pathOf` makes. */
const resourceIn = ({ path, resource }: Operation): string | undefined => {
  const [, parameter] = /\{(\w+)\}/.exec(path) ?? [];
  return resource === undefined || parameter === undefined ? undefined : `some-${parameter}`;
};

describe.each(rows.filter(([, { scope }]) => scope !== "self" && scope !== "public"))("%s", (name, operation) => {
  it("is refused by the same sentence as the call, without the scope and on another host", async () => {
    const others = scopes.filter((scope) => scope !== operation.scope);
    for (const key of [service.key(others), service.key(scopes.map((scope) => `${scope}@other`))]) {
      const { method } = operation;
      const reply = await send(service, { method, path: pathOf(operation), key });
      const { allowed, because } = await judgement(service, key, name, resourceIn(operation));
      expect([reply.status, allowed]).toEqual([403, false]);
      expect(because).toContainEqual({ kind: "scope", message: messageOf(reply) });
    }
  });

  it("is allowed by its scope, and held back by windows by the sentence of the call", async () => {
    const needed = [operation.scope, ...(operation.alsoNeeds ?? [])];
    const key = service.key(needed);
    expect(await judgement(service, key, name, resourceIn(operation))).toMatchObject({ allowed: true });
    freezeScopes(service, [operation.scope]);
    const { method } = operation;
    const answer = await judgement(service, key, name, resourceIn(operation));
    if (operation.effect === "read" || operation.scope.endsWith(":read")) {
      expect(answer.allowed).toBe(true);
      return;
    }
    const reply = await send(service, { method, path: pathOf(operation), key });
    expect(answer).toMatchObject({ allowed: false, because: [{ kind: "window", message: messageOf(reply) }] });
  });
});
