import { describe, expect, it } from "vitest";
import type { HookSubject } from "#domain/common/hooks.ts";
import type { OperationState } from "#domain/ports/operations.ts";
import { notifyEnd, requireConsent } from "./hooks.ts";

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

const done: OperationState = {
  status: "done",
  percent: 100,
  step: "",
  startedAt: 1,
  finishedAt: 2,
  phase: null,
  result: null,
  error: null,
};
type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never;
type Hooks = Parameters<typeof requireConsent>[0] & Parameters<typeof notifyEnd>[0];

/** Runs work with hooks, and has the events that they got. */
const eventsOf = async (work: (hooks: Hooks) => Promise<void>): Promise<readonly unknown[]> => {
  const calls: unknown[] = [];
  const note = (event: string, subject: HookSubject) => Promise.resolve(void calls.push([event, subject]));
  await work({ ask: (event, subject) => note(event, subject).then(() => undefined), notify: note });
  return calls;
};
const asked = (...given: Tail<Parameters<typeof requireConsent>>) =>
  eventsOf((hooks) => requireConsent(hooks, ...given));
const notified = (kind: string, input: unknown, state: Partial<OperationState> | undefined) =>
  eventsOf((hooks) =>
    notifyEnd(hooks, {
      spec: { id: "operation-1", kind, input, keyId: "key" },
      state: state && { ...done, ...state },
    }),
  );
const rollback = { snapshot_id: "s", etc: "touched", allow_downgrade: [], partial: false };

describe("hooks of operations", () => {
  it("are asked for consent to updates and rollbacks alone", async () => {
    expect(await asked("updates.apply", apply, null)).toEqual([["pre_update", { key_id: null, ...described }]]);
    expect(await asked("updates.rollback", { snapshotId: "s" }, "key")).toEqual([
      ["pre_rollback", { key_id: "key", ...rollback }],
    ]);
    expect(await asked("snapshots.create", { description: "" }, "key")).toEqual([]);
  });

  it("refuse an operation that one of them objects to", async () => {
    const hooks = { ask: () => Promise.resolve({ hook: "freeze", reason: "not now" }) };
    await expect(requireConsent(hooks, "updates.rollback", { snapshotId: "s" }, null)).rejects.toMatchObject({
      code: "FORBIDDEN",
      message: "cannot roll back: held back by freeze: not now",
      details: { hook: "freeze", reason: "not now" },
    });
  });

  it("are notified how operations ended, with or without success", async () => {
    const about = { operation_id: "operation-1", key_id: "key" };
    const result = { success: true };
    expect(await notified("updates.apply", apply, { result })).toEqual([
      ["post_update", { ...about, ...described, status: "done", result, error: null }],
    ]);
    const error = { code: "UNAVAILABLE", message: "locked" } as const;
    expect(await notified("updates.rollback", { snapshotId: "s" }, { status: "failed", error })).toEqual([
      ["post_rollback", { ...about, ...rollback, status: "failed", result: null, error }],
    ]);
  });

  it("are not notified of other operations, nor of running ones", async () => {
    expect(await notified("snapshots.create", { description: "" }, {})).toEqual([]);
    expect(await notified("toString", {}, {})).toEqual([]);
    expect(await notified("updates.apply", apply, { status: "running" })).toEqual([]);
    expect(await notified("updates.apply", apply, undefined)).toEqual([]);
  });
});
