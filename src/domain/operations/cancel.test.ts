import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeOperationStore } from "../../../test/fakes/operation-store.ts";
import { createFakeTaskLauncher } from "../../../test/fakes/task-launcher.ts";
import { createOperations } from "./operations.ts";
import { runTask, type Verb, type VerbContext } from "./task.ts";
import { rootSide, serviceSide } from "./two-sided.ts";

const { signal } = new AbortController();
const kinds = { work: { lock: "work", canGoOn: true } };

type Stores = () => { service: ReturnType<typeof serviceSide>; task: ReturnType<typeof serviceSide> };
const oneStore: Stores = () => {
  const store = createFakeOperationStore();
  return { service: store, task: store };
};
const twoStores: Stores = () => {
  const [asked, done] = [createFakeOperationStore(), createFakeOperationStore()];
  return { service: serviceSide(asked, done), task: rootSide(done, asked) };
};

/** A service and a task whose verb waits at `gate` before its point of no return, and at `end` after it. */
function begin({ service, task }: ReturnType<Stores>, hearsAbort = true) {
  const clock = createFakeClock();
  const launcher = createFakeTaskLauncher();
  const operations = createOperations({
    ...{ store: service, launcher, clock, kinds, self: launcher.begin(), createId: () => "id-1" },
    onTrouble: (error) => expect(error).toBeUndefined(),
  });
  const [gate, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const changed: string[] = [];
  const stopped = (by: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      by.addEventListener("abort", () => reject(by.reason as Error));
    });
  const work: Verb = async (_, context: VerbContext) => {
    await (hearsAbort ? Promise.race([gate.promise, stopped(context.signal)]) : gate.promise);
    context.pointOfNoReturn();
    changed.push("changed");
    await end.promise;
    return { success: true };
  };
  const { id } = operations.start({ kind: "work", input: {}, keyId: "k", idempotencyKey: null }).spec;
  const run = (): Promise<string> => {
    const self = launcher.begin();
    const onTrouble = (error: unknown): void => expect(error).toBeUndefined();
    return runTask({ id, store: task, launcher, kinds, verbs: { work }, clock, self, signal, onTrouble });
  };
  const cancel = () => {
    const answer = operations.cancel(id, signal);
    answer.catch(() => undefined);
    return answer;
  };
  return { clock, launcher, operations, id, run, cancel, gate, end, changed, task };
}

describe.each([
  ["one store", oneStore],
  ["one store for each side", twoStores],
])("a cancelled operation (%s)", (_, stores) => {
  const cancelled = { state: { status: "failed", error: { code: "CONFLICT", details: { reason: "cancelled" } } } };

  it("that is queued fails, and its task does not run", async () => {
    const { cancel, run, changed, operations, id } = begin(stores());
    expect(await cancel()).toMatchObject(cancelled);
    expect(await run()).toBe("left");
    expect([changed, operations.get(id)?.state.error?.message]).toEqual([
      [],
      "cannot do work: it was cancelled before it began",
    ]);
  });

  it("is aborted before it has changed anything, for each of two concurrent requests", async () => {
    const { cancel, run, changed, clock } = begin(stores());
    const task = run();
    await clock.advance(0);
    const both = [cancel(), cancel()];
    await clock.advance(2_000);
    expect(await Promise.all(both)).toMatchObject([cancelled, cancelled]);
    expect([await task, changed]).toEqual(["failed", []]);
    await expect(cancel()).rejects.toMatchObject({ code: "CONFLICT", details: { reason: "ended" } });
  });

  it("that ignores its signal fails at the point of no return", async () => {
    const { cancel, run, gate, changed, clock } = begin(stores(), false);
    const task = run();
    await clock.advance(0);
    const answer = cancel();
    await clock.advance(1_000);
    gate.resolve();
    await clock.advance(1_000);
    expect(await answer).toMatchObject(cancelled);
    expect([await task, changed]).toEqual(["failed", []]);
  });

  it("continues beyond the point of no return, and the request is refused", async () => {
    const { cancel, run, gate, end, changed, clock, operations, id, task: store } = begin(stores());
    const task = run();
    await clock.advance(0);
    gate.resolve();
    await clock.advance(300);
    await expect(cancel()).rejects.toMatchObject({
      code: "CONFLICT",
      details: { reason: "not_cancellable", status: "running", operation_id: id },
    });
    end.resolve();
    await clock.advance(1_000);
    expect([await task, changed, operations.get(id)?.state.status]).toEqual(["done", ["changed"], "done"]);
    expect(store.isCancelRequested(id)).toBe(false);
  });

  it("either fails unchanged or runs to its end, and the answer says which, in any order of both", async () => {
    for (let steps = 0; steps < 12; steps += 1) {
      const { cancel, run, gate, end, changed, clock, operations, id } = begin(stores(), steps % 2 === 0);
      const task = run();
      await clock.advance(0);
      gate.resolve();
      for (let at = 0; at < steps; at += 1) await Promise.resolve();
      const answer = cancel().then(
        () => "cancelled",
        ({ details }: { details: { reason: string } }) => details.reason,
      );
      end.resolve();
      await clock.advance(2_000);
      const isCancelled = (await answer) === "cancelled";
      await task;
      expect([changed.length, operations.get(id)?.state.status]).toEqual(isCancelled ? [0, "failed"] : [1, "done"]);
    }
  });

  it("whose task does not react stays requested, and the answer says that it is pending", async () => {
    const { cancel, run, gate, clock } = begin(stores(), false);
    const task = run();
    await clock.advance(0);
    const answer = cancel();
    await clock.advance(30_000);
    await expect(answer).rejects.toMatchObject({
      code: "UNAVAILABLE",
      details: { reason: "pending", retryable: true },
    });
    gate.resolve();
    expect(await task).toBe("failed");
  });
});
