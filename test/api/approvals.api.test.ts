import { describe, expect, it } from "vitest";
import type { Approval } from "#contract/approvals.ts";
import { scopes } from "#contract/scopes.ts";
import { createFakeApprovalStore } from "../fakes/approval-store.ts";
import {
  all,
  approvalOf,
  approveBy,
  credentialOf,
  decide,
  detailsOf,
  gateableOf,
  hourMs,
  look,
  policy,
  proposingScopes,
  sendShown,
  waiting,
} from "./approvals.ts";
import { reasonOf, send, type TestRequest } from "./harness.ts";
import { createMutableServices } from "./mutable-services.ts";
import { type MutableService, prepareMutation } from "./mutations.ts";

const start = createMutableServices();

/** Entries of a mutation that changed something, as those who read the audit log distinguish them from proposals. */
const doneBy = ({ audit }: MutableService, name: string) =>
  audit.entries.filter((each) => each.operation === name && !each.dry_run && each.status !== 202);

/** Without those that were refused, such as those without a plan. */
const okBy = (service: MutableService, name: string) => doneBy(service, name).filter(({ outcome }) => outcome === "ok");

/** Waits for what continues by itself. */
async function ended(service: MutableService, approval: Pick<Approval, "id">): Promise<Approval> {
  for (let left = 200; left > 0; left -= 1) {
    const now = await look(service, approval);
    if (now.status !== "running") return now;
    await service.clock.advance(1_000);
  }
  throw new Error("it does not end");
}

const restart: TestRequest = { method: "POST", path: "/api/v1/system/services/cron.service/restart" };

describe.each(waiting)("%s", (name, operation) => {
  const gateable = gateableOf(name, operation);

  it("waits where the key may only propose it, and is carried out once another key has approved it", async () => {
    const service = await start();
    const request = await prepareMutation(service, name);
    const granted = scopes.map((each) => (gateable.includes(each) ? `propose:${each}` : each));
    const key = service.key(granted);
    const before = doneBy(service, name).length;

    const planned = await send(service, { ...request, path: `${request.path}?dry_run=true`, key });
    expect([planned.status, planned.json]).toMatchObject([200, { dry_run: true, needs_approval: { approvers: 1 } }]);
    const parked = await send(service, { ...request, key, headers: { "x-proposal-reason": "of a test" } });
    expect([name, parked.status, parked.text]).toEqual([name, 202, parked.text]);
    const approval = approvalOf(parked);
    expect(parked.headers["location"]).toBe(`/api/v1/approvals/${approval.id}`);
    expect(approval).toMatchObject({ status: "pending", operation: name, reason: "of a test", approvals: [] });
    expect(approval.plan.steps).toEqual((planned.json as { steps: unknown }).steps);
    expect(doneBy(service, name)).toHaveLength(before);

    // By nobody but another key that has it in full.
    for (const other of [key, service.key(granted), service.key(["viewer"])])
      expect([403, 404]).toContain((await send(service, decide(approval, "approve", other))).status);
    expect((await look(service, approval)).status).toBe("pending");

    const approved = await send(service, decide(approval, "approve", service.key(all)));
    expect([name, approved.status, approved.text]).toEqual([name, 200, approved.text]);
    const end = await ended(service, approval);
    expect([name, end.status, end.error]).toEqual([name, "done", null]);
    const entries = doneBy(service, name).slice(before);
    expect([name, entries.map(({ outcome }) => outcome)]).toEqual([name, ["ok"]]);
    expect(entries[0]).toMatchObject({
      key_id: key.slice(4, 12),
      target: { approval: approval.id, approved_by: expect.stringContaining("(") },
    });
    expect(reasonOf(await send(service, decide(approval, "approve", service.key(all))))).toEqual([409, "decided"]);
    expect(doneBy(service, name).slice(before)).toHaveLength(1);
  });

  it("waits where a token or an elevated session asks, and is refused to a read-only session", async () => {
    for (const kind of ["token", "session", "read-only session"] as const) {
      const service = await start();
      const request = await prepareMutation(service, name);
      const key = service.key(proposingScopes(name, operation));
      const credential = credentialOf(service, kind, key, proposingScopes(name, operation));
      const before = okBy(service, name).length;
      const reply = await sendShown(service, { ...request, ...credential });
      if (kind === "read-only session") {
        expect([name, kind, ...reasonOf(reply)]).toEqual([name, kind, 403, "elevation_required"]);
        const { json } = await send(service, { path: "/api/v1/approvals", key });
        expect(json).toMatchObject({ total: 0 });
        continue;
      }
      expect([name, kind, reply.status, reply.text]).toEqual([name, kind, 202, reply.text]);
      const approval = approvalOf(reply);
      expect(approval).toMatchObject({ status: "pending", operation: name, proposer: { key_id: key.slice(4, 12) } });
      for (const each of ["token", "session"] as const) {
        const own = await approveBy(service, approval, credentialOf(service, each, key));
        expect([name, kind, each, ...reasonOf(own)]).toEqual([name, kind, each, 403, "another_key_needed"]);
      }
      expect(okBy(service, name)).toHaveLength(before);
      expect((await send(service, decide(approval, "approve", service.key(all)))).status).toBe(200);
      expect([name, kind, (await ended(service, approval)).status]).toEqual([name, kind, "done"]);
      expect(okBy(service, name).slice(before)).toMatchObject([{ key_id: key.slice(4, 12) }]);
    }
  });

  it("waits where the settings demand it, also of an administrator and for each scope that it takes", async () => {
    // What a fix takes beside its own scope depends on the fix.
    for (const scope of gateable.filter((each) => name !== "fixCheck" || each === "health:fix")) {
      const service = await start();
      const request = await prepareMutation(service, name);
      service.service.replaceApprovals(policy({ requireFor: [scope] }));
      const before = doneBy(service, name).length;
      const parked = await send(service, { ...request, key: service.admin });
      expect([name, scope, parked.status, parked.text]).toEqual([name, scope, 202, parked.text]);
      expect(doneBy(service, name)).toHaveLength(before);
      const approval = approvalOf(parked);
      expect(reasonOf(await send(service, decide(approval, "approve", service.admin)))).toEqual([
        403,
        "another_key_needed",
      ]);
      expect((await send(service, decide(approval, "approve", service.key(all)))).status).toBe(200);
      expect([name, (await ended(service, approval)).status]).toEqual([name, "done"]);
      expect(doneBy(service, name).slice(before)).toHaveLength(1);
    }
  });
});

describe("an approval", () => {
  const proposed = async (service: MutableService, rest: Partial<TestRequest> = {}) => {
    const key = service.key(["propose:services:restart"]);
    return { key, approval: approvalOf(await send(service, { ...restart, key, ...rest })) };
  };

  it("is decided once by twenty at once", async () => {
    const service = await start();
    const { approval } = await proposed(service);
    const keys = Array.from({ length: 20 }, () => service.key(all));
    const replies = await Promise.all(keys.map((key) => send(service, decide(approval, "approve", key))));
    const statuses = replies.map(({ status }) => status);
    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
    expect(service.units.actions).toEqual(["restart cron.service"]);
  });

  it("is approved or denied, never both", async () => {
    for (const order of [
      ["approve", "deny"],
      ["deny", "approve"],
    ] as const) {
      const service = await start();
      const { approval } = await proposed(service);
      const replies = order.map((doing) => send(service, decide(approval, doing, service.key(all))));
      const statuses = (await Promise.all(replies)).map(({ status: each }) => each);
      expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 409]);
      const { status } = await look(service, approval);
      expect(service.units.actions).toHaveLength(status === "done" ? 1 : 0);
      expect(["done", "denied"]).toContain(status);
    }
  });

  it("expires, also while the clock is set back", async () => {
    const service = await start();
    const { approval } = await proposed(service);
    service.clock.set(service.clock.now() - 24 * hourMs);
    await service.clock.advance(hourMs);
    expect((await look(service, approval)).status).toBe("expired");
    expect(reasonOf(await send(service, decide(approval, "approve", service.admin)))).toEqual([409, "decided"]);
    const { approval: other } = await proposed(service);
    service.clock.set(service.clock.now() + 24 * hourMs);
    expect(reasonOf(await send(service, decide(other, "approve", service.admin)))).toEqual([409, "decided"]);
    expect(service.units.actions).toEqual([]);
  });

  it("that expires while it is planned again is not carried out", async () => {
    const service = await start();
    service.packageManager.repository.set("editor", { version: "2.0", isSecurity: false });
    const key = service.key(["propose:updates:apply"]);
    const request: TestRequest = { method: "POST", path: "/api/v1/updates/apply", key, body: {} };
    const approval = approvalOf(await send(service, request));
    const reply = send(service, decide(approval, "approve", service.admin));
    await service.clock.advance(hourMs);
    expect([200, 409]).toContain((await reply).status);
    const end = await ended(service, approval);
    const version = service.packageManager.packages.get("editor")?.version;
    expect([end.status, version]).toEqual(end.status === "done" ? ["done", "2.0"] : ["expired", "1.0"]);
  });

  it("is not carried out for a key that was revoked meanwhile", async () => {
    const service = await start();
    const { key, approval } = await proposed(service);
    service.service.keyring.revoke(key.slice(4, 12));
    expect(reasonOf(await send(service, decide(approval, "approve", service.admin)))).toEqual([409, "proposer_gone"]);
    expect(await look(service, approval)).toMatchObject({ status: "failed", error: { code: "CONFLICT" } });
    expect(service.units.actions).toEqual([]);
  });

  it("waits again with the new plan where the plan has changed", async () => {
    const service = await start();
    service.packageManager.repository.set("editor", { version: "2.0", isSecurity: false });
    const key = service.key(["propose:updates:apply"]);
    const request: TestRequest = { method: "POST", path: "/api/v1/updates/apply", key, body: {} };
    const approval = approvalOf(await send(service, request));
    service.packageManager.repository.set("editor", { version: "3.0", isSecurity: false });
    const refused = await send(service, decide(approval, "approve", service.admin));
    expect(reasonOf(refused)).toEqual([409, "plan_changed"]);
    const now = await look(service, approval);
    expect(detailsOf(refused)["approval"]).toEqual(now);
    expect(now).toMatchObject({
      status: "pending",
      approvals: [],
      changed: { added: [expect.stringContaining("3.0")], missing: [expect.stringContaining("2.0")] },
    });
    const body = { plan_digest: approval.plan_digest };
    expect(reasonOf(await send(service, decide(approval, "approve", service.admin, { body })))).toEqual([
      409,
      "plan_changed",
    ]);
    const right = { body: { plan_digest: now.plan_digest } };
    expect((await send(service, decide(approval, "approve", service.admin, right))).status).toBe(200);
    const end = await ended(service, approval);
    expect([end.status, end.operation_id]).toEqual(["done", expect.any(String)]);
    expect(service.packageManager.packages.get("editor")?.version).toBe("3.0");
  });

  it("takes two other keys where the settings say so", async () => {
    const service = await start({ approvals: policy({ approvers: 2 }) });
    const { approval } = await proposed(service);
    const [one, two] = [service.key(all), service.key(all)];
    const first = await send(service, decide(approval, "approve", one, { body: { reason: "fine" } }));
    expect(approvalOf(first)).toMatchObject({ status: "pending", approvals: [{ reason: "fine" }] });
    expect((await send(service, decide(approval, "approve", one))).status).toBe(403);
    expect(service.units.actions).toEqual([]);
    expect(approvalOf(await send(service, decide(approval, "approve", two)))).toMatchObject({ status: "done" });
    expect(service.units.actions).toEqual(["restart cron.service"]);
  });

  it("is the same for a repetition with the same idempotency key", async () => {
    const service = await start();
    const key = service.key(["propose:services:restart"]);
    const keyed = { ...restart, key, headers: { "idempotency-key": "one" } };
    const first = await send(service, keyed);
    const again = await send(service, keyed);
    expect([again.status, again.text]).toEqual([202, first.text]);
    const list = await send(service, { path: "/api/v1/approvals", key });
    expect(list.json).toMatchObject({ total: 1, approvals: [{ status: "pending" }] });
  });

  it("is seen by its proposer and by those who could approve it, and by no other", async () => {
    const service = await start();
    const { key, approval } = await proposed(service);
    for (const [other, status] of [
      [key, 200],
      [service.key(["services:restart"]), 200],
      [service.key(["services:restart:cron"]), 200],
      [service.key(["services:restart:web"]), 404],
      [service.key(["propose:services:restart"]), 404],
      [service.key(["keys:admin"]), 404],
    ] as const) {
      const path = `/api/v1/approvals/${approval.id}`;
      expect((await send(service, { path, key: other })).status).toBe(status);
      const list = await send(service, { path: "/api/v1/approvals", key: other });
      expect(list.json).toMatchObject({ total: status === 200 ? 1 : 0 });
    }
  });

  it("is cancelled by its proposer, and denied by others", async () => {
    const service = await start();
    const { key, approval } = await proposed(service);
    expect((await send(service, decide(approval, "deny", key))).status).toBe(403);
    expect((await send(service, decide(approval, "cancel", service.admin))).status).toBe(403);
    expect(approvalOf(await send(service, decide(approval, "cancel", key)))).toMatchObject({ status: "cancelled" });
    const { approval: other } = await proposed(service);
    const body = { reason: "not today" };
    const denied = approvalOf(await send(service, decide(other, "deny", service.admin, { body })));
    expect(denied).toMatchObject({ status: "denied", decision: "not today", decided_by: { name: expect.any(String) } });
    expect((await send(service, decide(other, "deny", service.admin))).status).toBe(200);
    expect(service.units.actions).toEqual([]);
  });

  it("wakes waiting requests, and misses nothing between two requests", async () => {
    const service = await start();
    const { revision } = (await send(service, { path: "/api/v1/approvals", key: service.admin })).json as Approval;
    const waits = send(service, { path: `/api/v1/approvals?wait=30s&since=${revision}`, key: service.admin });
    const { approval } = await proposed(service);
    expect((await waits).json).toMatchObject({ total: 1, approvals: [{ id: approval.id }] });
    // Something has changed since.
    const since = await send(service, { path: `/api/v1/approvals?wait=30s&since=${revision}`, key: service.admin });
    expect(since.json).toMatchObject({ total: 1 });
    const one = send(service, { path: `/api/v1/approvals/${approval.id}?wait=30s`, key: service.admin });
    await new Promise((resolve) => setImmediate(resolve));
    await send(service, decide(approval, "deny", service.key(all)));
    expect((await one).json).toMatchObject({ status: "denied" });
    const late = send(service, { path: "/api/v1/approvals?wait=1s", key: service.admin });
    await new Promise((resolve) => setImmediate(resolve));
    await service.clock.advance(1_000);
    expect((await late).status).toBe(200);
  });

  it("is neither made nor decided where it cannot be stored", async () => {
    const approvalStore = createFakeApprovalStore();
    const service = await start({ approvalStore });
    const key = service.key(["propose:services:restart"]);
    const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC", syscall: "write" });
    approvalStore.fault = full;
    expect((await send(service, { ...restart, key })).status).toBe(503);
    approvalStore.fault = undefined;
    const { approval } = await proposed(service);
    approvalStore.fault = full;
    expect((await send(service, decide(approval, "approve", service.admin))).status).toBe(503);
    expect(service.units.actions).toEqual([]);
    approvalStore.fault = undefined;
    expect((await send(service, decide(approval, "approve", service.admin))).status).toBe(200);
    expect(service.units.actions).toEqual(["restart cron.service"]);
  });

  it("shows a new secret once, to anyone who approved it, and to nobody else", async () => {
    const service = await start();
    const key = service.key(["propose:keys:admin", "system:read"]);
    const body = { name: "made", scopes: ["system:read"] };
    const approval = approvalOf(await send(service, { method: "POST", path: "/api/v1/auth/keys", key, body }));
    const headers = { "idempotency-key": "one" };
    const approved = await send(service, decide(approval, "approve", service.admin, { headers }));
    const { key: made } = approvalOf(approved).result as { key: string };
    expect(made).toMatch(/^stw_/);
    expect((await send(service, decide(approval, "approve", service.admin, { headers }))).status).toBe(409);
    expect(JSON.stringify(await look(service, approval, key))).not.toContain(made);
    expect(JSON.stringify(service.audit.entries)).not.toContain(made);
    // Nobody gets more by proposing it.
    const wide = { name: "wide", scopes: ["services:restart"] };
    expect((await send(service, { method: "POST", path: "/api/v1/auth/keys", key, body: wide })).status).toBe(403);
  });
});

describe("key, token and session of one key", () => {
  const kinds = ["key", "token", "session"] as const;
  const silence = (at: number): TestRequest => ({
    method: "POST",
    path: "/api/v1/alerts/silences",
    body: { alert: "ServiceDown", until: new Date(at + hourMs).toISOString() },
  });

  it.each(kinds)("propose as that key, and approve nothing of it: %s", async (proposing) => {
    for (const approving of kinds) {
      const service = await start();
      // With the scope in full as well, or it would lack that.
      service.service.replaceApprovals(policy({ requireFor: ["health:fix"] }));
      const key = service.key(all);
      const parked = await send(service, { ...silence(service.clock.now()), ...credentialOf(service, proposing, key) });
      expect([proposing, parked.status, parked.text]).toEqual([proposing, 202, parked.text]);
      const approval = approvalOf(parked);
      expect(approval.proposer).toMatchObject({ key_id: key.slice(4, 12) });
      for (const each of kinds) {
        const own = await approveBy(service, approval, credentialOf(service, each, key));
        expect([proposing, each, ...reasonOf(own)]).toEqual([proposing, each, 403, "another_key_needed"]);
      }
      const other = service.key(all);
      const approved = await approveBy(service, approval, credentialOf(service, approving, other));
      expect([approving, approved.status, approved.text]).toEqual([approving, 200, approved.text]);
      expect(approvalOf(approved)).toMatchObject({ status: "done", decided_by: { key_id: other.slice(4, 12) } });
      expect(doneBy(service, "silenceAlert")).toMatchObject([
        { key_id: key.slice(4, 12), target: { approved_by: expect.stringContaining(other.slice(4, 12)) } },
      ]);
    }
  });

  it("count as one where two have to approve", async () => {
    const service = await start({ approvals: policy({ approvers: 2, requireFor: ["health:fix"] }) });
    const request = { ...silence(service.clock.now()), key: service.key(all) };
    const approval = approvalOf(await send(service, request));
    const one = service.key(all);
    expect((await approveBy(service, approval, credentialOf(service, "token", one))).status).toBe(200);
    for (const each of kinds) {
      const again = await approveBy(service, approval, credentialOf(service, each, one));
      expect([each, ...reasonOf(again)]).toEqual([each, 403, "another_key_needed"]);
    }
    const last = await approveBy(service, approval, credentialOf(service, "session", service.key(all)));
    expect(approvalOf(last)).toMatchObject({ status: "done" });
  });

  it("propose within the scopes of a token, until the key is revoked", async () => {
    const service = await start();
    const key = service.key(all);
    const token = () => credentialOf(service, "token", key, ["propose:health:fix"]);
    const propose = async () => approvalOf(await send(service, { ...silence(service.clock.now()), ...token() }));
    const approval = await propose();
    expect(approval).toMatchObject({ status: "pending" });
    // What a token lacks it does not approve.
    const lacking = await approveBy(
      service,
      approval,
      credentialOf(service, "token", service.key(all), ["health:read"]),
    );
    expect(lacking.status).toBe(404);
    await service.clock.advance((hourMs * 2) / 3);
    expect(approvalOf(await send(service, decide(approval, "approve", service.admin)))).toMatchObject({
      status: "done",
    });
    const further = await propose();
    service.service.keyring.revoke(key.slice(4, 12));
    expect(reasonOf(await send(service, decide(further, "approve", service.admin)))).toEqual([409, "proposer_gone"]);
  });
});

describe("notifications of approvals", () => {
  it("are sent once, and the metrics count what becomes of a call", async () => {
    const service = await start({ reported: ["approvals"] });
    const key = service.key(["propose:services:restart"]);
    const approval = approvalOf(await send(service, { ...restart, key, headers: { "x-proposal-reason": "it hangs" } }));
    const { json } = await send(service, { path: "/api/v1/alerts/notifications", key: service.admin });
    const { notifications } = json as { notifications: readonly { kind: string; subject: string }[] };
    expect(notifications.map(({ kind, subject }) => [kind, subject])).toEqual([["approval_wanted", approval.id]]);
    await send(service, decide(approval, "deny", service.admin));
    const { text } = await send(service, { path: "/metrics", key: service.admin });
    expect(text).toContain('svc_approvals_total{state="pending"} 1');
    expect(text).toContain('svc_approvals_total{state="denied"} 1');
  });
});
