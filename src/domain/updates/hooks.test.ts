import { describe, expect, it } from "vitest";
import type { HookSubject } from "#domain/common/hooks.ts";
import type { OperationState, StoredOperation } from "#domain/ports/operations.ts";
import { requireConsent, tellEnd } from "./hooks.ts";

const request = { type: "packages", isSecurityOnly: true, names: undefined } as const;
const apply = { request, takesSnapshot: true, isGuarded: false };
const described = {
  type: "packages",
  security_only: true,
  packages: null,
  create_snapshot: true,
  guard: false,
  restart_stale: false,
};

const asked = async (
  work: (hooks: { ask: (event: string, subject: HookSubject) => Promise<undefined> }) => Promise<void>,
) => {
  const calls: unknown[] = [];
  await work({
    ask(event, subject) {
      calls.push([event, subject]);
      return Promise.resolve(undefined);
    },
  });
  return calls;
};

const stored = (kind: string, input: unknown, state: Partial<OperationState> | undefined): StoredOperation => ({
  spec: { id: "operation-1", kind, input, createdAt: 0, keyId: "key", idempotencyKey: null },
  state: state && {
    status: "done",
    percent: 100,
    step: "",
    startedAt: 1,
    finishedAt: 2,
    phase: null,
    result: null,
    error: null,
    ...state,
  },
  claim: undefined,
});
const told = async (operation: StoredOperation) => {
  const calls: unknown[] = [];
  await tellEnd(
    {
      tell(event, subject) {
        calls.push([event, subject]);
        return Promise.resolve();
      },
    },
    operation,
  );
  return calls;
};

describe("hooks of operations", () => {
  it("are asked about updates and rollbacks, and about nothing else", async () => {
    expect(await asked((hooks) => requireConsent(hooks, "updates.apply", apply, null))).toEqual([
      ["pre_update", { key_id: null, ...described }],
    ]);
    expect(await asked((hooks) => requireConsent(hooks, "updates.rollback", { snapshotId: "s" }, "key"))).toEqual([
      ["pre_rollback", { key_id: "key", snapshot_id: "s", etc: "touched", allow_downgrade: [], partial: false }],
    ]);
    expect(await asked((hooks) => requireConsent(hooks, "snapshots.create", { description: "" }, "key"))).toEqual([]);
  });

  it("refuse what one of them objects to", async () => {
    const hooks = { ask: () => Promise.resolve({ hook: "freeze", reason: "not now" }) };
    await expect(requireConsent(hooks, "updates.rollback", { snapshotId: "s" }, null)).rejects.toMatchObject({
      code: "FORBIDDEN",
      message: "cannot roll back: held back by freeze: not now",
      details: { hook: "freeze", reason: "not now" },
    });
  });

  it("are told how they ended, well or not", async () => {
    const about = { operation_id: "operation-1", key_id: "key" };
    expect(await told(stored("updates.apply", apply, { result: { success: true } }))).toEqual([
      ["post_update", { ...about, ...described, status: "done", result: { success: true }, error: null }],
    ]);
    const error = { code: "UNAVAILABLE", message: "locked" } as const;
    expect(await told(stored("updates.rollback", { snapshotId: "s" }, { status: "failed", error }))).toEqual([
      [
        "post_rollback",
        {
          ...about,
          snapshot_id: "s",
          etc: "touched",
          allow_downgrade: [],
          partial: false,
          status: "failed",
          result: null,
          error,
        },
      ],
    ]);
  });

  it("get no other operation, and none that has not ended", async () => {
    expect(await told(stored("snapshots.create", { description: "" }, {}))).toEqual([]);
    expect(await told(stored("toString", {}, {}))).toEqual([]);
    expect(await told(stored("updates.apply", apply, { status: "running" }))).toEqual([]);
    expect(await told(stored("updates.apply", apply, undefined))).toEqual([]);
  });
});
