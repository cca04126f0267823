import { afterEach, describe, expect, it } from "vitest";
import type { Approval } from "#contract/approvals.ts";
import type { ApprovalRecord } from "#domain/ports/approvals.ts";
import { createFakeApprovalStore } from "../fakes/approval-store.ts";
import { createFakeAuditLog } from "../fakes/audit-log.ts";
import { createFakeKeyStore } from "../fakes/key-store.ts";
import { all, approvalOf, decide, hourMs, look } from "./approvals.ts";
import { reasonOf, send, type TestRequest, turns } from "./harness.ts";
import { type MutableService, startMutableService } from "./mutations.ts";

const services: MutableService[] = [];
/** What outlives a service. */
const keep = () => ({
  approvalStore: createFakeApprovalStore(),
  audit: createFakeAuditLog(),
  store: createFakeKeyStore(),
});
type Kept = ReturnType<typeof keep>;
const start = async (kept: Partial<Kept>): Promise<MutableService> => {
  const service = await startMutableService(kept);
  services.push(service);
  await turns(20);
  return service;
};
const stop = async (service: MutableService): Promise<void> => {
  services.splice(services.indexOf(service), 1);
  await service.app.close();
};
afterEach(async () => {
  for (const { app } of services.splice(0)) await app.close();
});

const restart: TestRequest = { method: "POST", path: "/api/v1/system/services/cron.service/restart" };
async function proposed(service: MutableService, scope = "services:restart", request: Partial<TestRequest> = restart) {
  const key = service.key([`propose:${scope}`]);
  const reply = await send(service, { ...(request as TestRequest), key });
  expect([reply.status, reply.text]).toEqual([202, reply.text]);
  return { proposer: key.slice(4, 12), key, approval: approvalOf(reply) };
}
const eventsIn = ({ audit }: Pick<Kept, "audit">) =>
  audit.entries.filter((each) => each.operation.startsWith("approval."));
const expected = (
  name: string,
  { approval, proposer }: { readonly approval: Approval; readonly proposer: string },
  rest: object = {},
) => ({
  operation: `approval.${name}`,
  key_id: null,
  target: { approval: approval.id, operation: approval.operation, proposed_by: proposer, ...rest },
});
/** As an earlier process has left it. */
const leave = ({ approvalStore }: Kept, rest: Partial<ApprovalRecord>): void => {
  for (const record of approvalStore.list()) approvalStore.save({ ...record, ...rest });
};
const party = { keyId: "00000000", keyName: "approver", reason: null, at: 0 };

describe("the audit log has the end of an approval that nobody has called for", () => {
  it("which has expired: once, also over a restart", async () => {
    const kept = keep();
    const first = await start(kept);
    const one = await proposed(first);
    await first.clock.advance(hourMs);
    const event = expected("expired", one);
    expect(eventsIn(kept)).toMatchObject([{ ...event, outcome: "refused", error: null }]);
    await look(first, one.approval);
    await stop(first);
    await start(kept);
    expect(eventsIn(kept)).toHaveLength(1);
    expect(kept.approvalStore.list().map(({ unaudited }) => unaudited)).toEqual([undefined]);
  });

  it("which has expired while the service was down", async () => {
    const kept = keep();
    const first = await start(kept);
    const one = await proposed(first);
    await stop(first);
    leave(kept, { expiresAt: 1 });
    await stop(await start(kept));
    await start(kept);
    expect(eventsIn(kept)).toMatchObject([expected("expired", one)]);
  });

  it.each([true, false])("where the process was killed between the two, and the log has it: %s", async (has) => {
    const kept = keep();
    const first = await start(kept);
    const one = await proposed(first);
    await first.clock.advance(hourMs);
    // The last but one: then the log has it or not.
    const left = kept.approvalStore.saved.at(-2);
    expect(left).toMatchObject({ status: "expired", unaudited: { name: "approval.expired" } });
    await stop(first);
    const again = { ...keep(), store: kept.store };
    if (left !== undefined) again.approvalStore.save(left);
    if (has) for (const each of eventsIn(kept)) again.audit.record(each);
    await stop(await start(again));
    await start(again);
    expect(eventsIn(again)).toMatchObject([expected("expired", one)]);
  });

  it("where the end cannot be stored: when it can, or after the restart", async () => {
    for (const isStopped of [false, true]) {
      const kept = keep();
      const first = await start(kept);
      const one = await proposed(first);
      kept.approvalStore.fault = Object.assign(new Error("no space left on device"), {
        code: "ENOSPC",
        syscall: "write",
      });
      await first.clock.advance(hourMs);
      expect((await look(first, one.approval)).status).toBe("expired");
      expect(eventsIn(kept)).toEqual([]);
      if (isStopped) await stop(first);
      kept.approvalStore.fault = undefined;
      if (isStopped) leave(kept, { expiresAt: 1 });
      if (isStopped) await start(kept);
      else await first.clock.advance(10_000);
      expect(eventsIn(kept)).toMatchObject([expected("expired", one)]);
    }
  });

  it("whose proposer has gone, at the decision and at the next start", async () => {
    const kept = keep();
    const first = await start(kept);
    const one = await proposed(first);
    first.service.keyring.revoke(one.proposer);
    expect(reasonOf(await send(first, decide(one.approval, "approve", first.admin)))).toEqual([409, "proposer_gone"]);
    const event = { ...expected("failed", one, { reason: "proposer_gone" }), outcome: "failed", error: "CONFLICT" };
    expect(eventsIn(kept)).toMatchObject([event]);
    await stop(first);

    const later = keep();
    const second = await start(later);
    const other = await proposed(second);
    await stop(second);
    leave(later, { status: "approved", approvals: [party], decidedBy: party });
    later.store.revokeKey(other.proposer, 1);
    await stop(await start(later));
    await start(later);
    expect(eventsIn(later)).toMatchObject([expected("failed", other, { reason: "proposer_gone" })]);
  });

  it("that an earlier process has approved and not started: late, without anybody for its answer, or another plan", async () => {
    const ends = [
      ["expired", "services:restart", restart, { expiresAt: 1 }, {}],
      [
        "failed",
        "keys:admin",
        { method: "POST", path: "/api/v1/auth/keys", body: { name: "made", scopes: [] } },
        {},
        { reason: "answer_lost" },
      ],
      ["reopened", "services:restart", restart, { digest: "another" }, { reason: "plan_changed" }],
    ] as const;
    for (const [name, scope, request, rest, why] of ends) {
      const kept = keep();
      const first = await start(kept);
      const one = await proposed(first, scope, request);
      await stop(first);
      leave(kept, { status: "approved", approvals: [party], decidedBy: party, ...rest });
      await stop(await start(kept));
      const last = await start(kept);
      expect(eventsIn(kept)).toMatchObject([expected(name, one, why)]);
      expect(last.units.actions).toEqual([]);
      expect(kept.approvalStore.list()).toMatchObject([{ status: name === "reopened" ? "pending" : name }]);
    }
  });

  it("whose outcome is unknown, since the process was killed while it ran", async () => {
    for (const operationId of [null, "gone"]) {
      const kept = keep();
      const first = await start(kept);
      const one = await proposed(first);
      await stop(first);
      leave(kept, { status: "running", approvals: [party], decidedBy: party, operationId });
      await stop(await start(kept));
      await start(kept);
      const event = expected("failed", one, { reason: "outcome_unknown" });
      expect(eventsIn(kept)).toMatchObject([{ ...event, operation_id: operationId }]);
    }
  });

  it("but not where its call has an entry, which says how it went", async () => {
    const kept = keep();
    const service = await start(kept);
    const one = await proposed(service);
    Object.assign(service.units, { restart: () => Promise.reject(new Error("of a test")) });
    await send(service, decide(one.approval, "approve", service.admin));
    expect((await look(service, one.approval)).status).toBe("failed");
    expect(eventsIn(kept)).toEqual([]);
    expect(
      kept.audit.entries.filter(({ operation, status }) => operation === "restartService" && status === null),
    ).toMatchObject([{ outcome: "failed", target: { approval: one.approval.id } }]);
  });
});

it("a decision that is refused names who has proposed it in the audit log, as one that is not", async () => {
  const kept = keep();
  const service = await start(kept);
  const one = await proposed(service);
  const target = { id: one.approval.id, operation: "restartService", proposed_by: one.proposer };
  for (const [doing, name, key] of [
    ["approve", "approve", one.key],
    ["deny", "deny", one.key],
    ["cancel", "cancelApproval", service.admin],
  ] as const) {
    await send(service, decide(one.approval, doing, key, { body: { reason: "of a test" } }));
    const entry = kept.audit.entries.at(-1);
    expect(entry).toMatchObject({ operation: name, outcome: "refused", target: { ...target, reason: "of a test" } });
  }
  expect((await send(service, decide(one.approval, "approve", service.key(all)))).status).toBe(200);
  expect((await send(service, decide(one.approval, "approve", service.key(all)))).status).toBe(409);
  const decisions = kept.audit.entries.filter(({ operation }) => operation === "approve").slice(-2);
  expect(decisions).toMatchObject([
    { outcome: "ok", target },
    { outcome: "refused", target },
  ]);
});
