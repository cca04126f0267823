import { describe, expect, it } from "vitest";
import { createFakeApprovalStore } from "../fakes/approval-store.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { all, approvalOf, decide, look, proposingScopes, waiting } from "./approvals.ts";
import { reasonOf, send, type TestRequest } from "./harness.ts";
import { createMutableServices } from "./mutable-services.ts";
import { changedOf, type MutableService, type MutationName, prepareMutation } from "./mutations.ts";

const start = createMutableServices();

const movable = waiting.flatMap(([name, operation]) => {
  const change = changedOf(name);
  return typeof change === "string" ? [] : ([[name, change, operation]] as const);
});
const proposed = async (service: MutableService, name: MutationName, key: string) => {
  const request: TestRequest = { key, ...(await prepareMutation(service, name)) };
  return { request, approval: approvalOf(await send(service, request)) };
};

describe("an approval whose plan has changed shows what has come and what has gone", () => {
  it.each(movable)("%s", async (name, change, operation) => {
    const service = await start();
    const { request, approval } = await proposed(service, name, service.key(proposingScopes(name, operation)));
    expect(approval).toMatchObject({ status: "pending", changed: null });
    await change(service, request);
    const refused = await send(service, decide(approval, "approve", service.key(all)));
    expect([...reasonOf(refused), refused.text]).toEqual([409, "plan_changed", refused.text]);
    const { status, changed } = await look(service, approval);
    expect([status, changed?.added.length === 0 && changed.missing.length === 0, changed]).toEqual([
      "pending",
      false,
      changed,
    ]);
  });

  it("over a restart of the service, also of lines that its steps do not show", async () => {
    const kept = { approvalStore: createFakeApprovalStore(), store: createFakeKeyStore() };
    const { approval } = await (async () => {
      const before = await start(kept);
      return proposed(before, "fixCheck", before.key(["propose:health:fix"]));
    })();
    const service = await start(kept);
    const request = await prepareMutation(service, "fixCheck");
    const change = changedOf("fixCheck");
    if (typeof change === "string") throw new Error(change);
    await change(service, request);
    const refused = await send(service, decide(approval, "approve", service.key(all)));
    expect(reasonOf(refused)).toEqual([409, "plan_changed"]);
    const { plan, changed } = await look(service, approval);
    expect(plan.steps).toEqual(approval.plan.steps);
    expect(changed).toEqual({ added: ["repair the other one"], missing: ["repair it"] });
    // What has ended has no use for them.
    await send(service, decide(approval, "deny", service.admin));
    expect(kept.approvalStore.list()).toMatchObject([{ status: "denied", compared: null }]);
  });

  it("of thousands of lines the first hundred, and of too many to store those that everybody sees", async () => {
    const service = await start();
    const files = (count: number, path: string) => Array.from({ length: count }, (_, at) => `remove ${path}${at}`);
    const plan = (digested: readonly string[]) => {
      service.fixes.repair.planned = {
        steps: [{ action: `remove ${digested.length} files`, run: () => Promise.resolve("removed") }],
        digested,
      };
    };
    const changedTo = async (before: readonly string[], after: readonly string[]) => {
      const request = await prepareMutation(service, "fixCheck");
      plan(before);
      const approval = approvalOf(await send(service, { ...request, key: service.key(["propose:health:fix"]) }));
      plan(after);
      await send(service, decide(approval, "approve", service.admin));
      return (await look(service, approval)).changed;
    };
    const some = await changedTo(files(500, "/a"), files(1000, "/a"));
    expect([some?.added.length, some?.added.at(-1), some?.missing]).toEqual([101, "and 400 more", []]);
    const long = `/${"x".repeat(100)}`;
    expect(await changedTo(files(5000, long), files(5001, long))).toEqual({
      added: ["remove 5001 files"],
      missing: ["remove 5000 files"],
    });
    expect(await changedTo(files(5000, long), files(5000, `${long}y`))).toEqual({
      added: ["do something that its steps do not name"],
      missing: [],
    });
    expect(await changedTo(["remove a", "remove b"], ["remove b", "remove a"])).toEqual({
      added: ["do it in another order"],
      missing: [],
    });
  });
});
