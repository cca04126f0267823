import { describe, expect, it } from "vitest";
import type { OperationDetail } from "#contract/operation-entry.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeOperationStore } from "../../../test/fakes/operation-store.ts";
import { createFakeTaskLauncher } from "../../../test/fakes/task-launcher.ts";
import { operationHandlers } from "./handlers.ts";
import { createOperations } from "./operations.ts";
import { queuedState } from "./state.ts";

const clock = createFakeClock();
const store = createFakeOperationStore();
const launcher = createFakeTaskLauncher();
let made = 0;
const operations = createOperations({
  store,
  launcher,
  clock,
  createId() {
    made += 1;
    return `id-${made}`;
  },
  kinds: { a: { lock: "a", canGoOn: false }, b: { lock: "b", canGoOn: false } },
  self: launcher.begin(),
  onTrouble: (error) => expect(error).toBeUndefined(),
});
let hasEnded = false;
const stopping = new AbortController();
const requireScopes = (): void => undefined;
const handlers = operationHandlers({
  operations,
  requireScopes,
  clock,
  hasEnded: () => hasEnded,
  stopping: stopping.signal,
});
const context = {
  caller: undefined,
  signal: () => new AbortController().signal,
  prefersAsync: () => false,
  prefersWaitMs: () => undefined,
  drawsOn: () => undefined,
  planned: () => undefined,
  windowOverride: () => undefined,
  answerIsSecret: () => undefined,
  idempotencyKey: () => undefined,
  touched: () => undefined,
  checkWindows: () => undefined,
  tools: () => undefined,
  login: () => {
    throw new Error("no row of operations signs anybody in");
  },
  afterReply: () => undefined,
};
const start = (kind: string) => operations.start({ kind, input: {}, keyId: "k", idempotencyKey: null }).spec.id;

describe("a request that waits for an operation", () => {
  const caller = { keyId: "k", keyName: "n", credential: "key", scopes: [], expiresAt: null } as const;
  const get = async (id: string, wait: string, over: Partial<typeof context> & { caller?: typeof caller } = {}) =>
    (await handlers.getOperation(
      { params: { id }, query: { wait } },
      { ...context, caller, ...over },
    )) as OperationDetail;
  const write = (id: string, state: Partial<typeof queuedState>): void =>
    store.write(id, { ...queuedState, status: "running", startedAt: 1, ...state });
  const started = (): string => {
    for (const each of operations.list()) write(each.spec.id, { status: "done" });
    const id = start("a");
    store.claim(id, 1, launcher.begin());
    write(id, {});
    return id;
  };
  const isAnswered = async (answer: Promise<unknown>): Promise<boolean> => {
    await clock.advance(0);
    return Promise.race([answer.then(() => true), Promise.resolve(false)]);
  };

  it("is answered when the operation ends, with one read for all in each interval, and bounded for each key", async () => {
    const id = started();
    const keys = Array.from({ length: 8 }, (_, at) => ({ ...caller, keyId: `k${at}` }));
    const all = keys.flatMap((each) => Array.from({ length: 64 }, () => get(id, "30s", { caller: each as never })));
    const { read } = store;
    let reads = 0;
    Object.assign(store, {
      read(each: string) {
        reads += 1;
        return read(each);
      },
    });
    await clock.advance(1_000);
    expect(reads).toBeLessThan(20);
    Object.assign(store, { read });
    await expect(get(id, "30s", { caller: { ...caller, keyId: "other" } as never })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      details: { retryable: true, retry_after_seconds: 5 },
    });
    write(id, { status: "done", result: 1 });
    await clock.advance(200);
    for (const answer of await Promise.all(all)) expect(answer.status).toBe("done");
    expect(clock.isSleptBy()).toBe(false);
  });

  it("is answered when the status changes, not when only the progress does", async () => {
    const id = start("b");
    const answer = get(id, "1m");
    write(id, { status: "queued", percent: 5 });
    await clock.advance(1_000);
    expect(await isAnswered(answer)).toBe(false);
    store.claim(id, 1, launcher.begin());
    write(id, {});
    await clock.advance(200);
    expect((await answer).status).toBe("running");
    write(id, { status: "done" });
  });

  it("shows when the step is over, while it runs", async () => {
    const id = started();
    write(id, { percent: 70, step: "watch", stepEndsAt: 90_000 });
    expect((await get(id, "0")).progress).toEqual({ percent: 70, step: "watch", until: "1970-01-01T00:01:30.000Z" });
    write(id, { status: "done", percent: 100, step: "watch", stepEndsAt: 90_000 });
    expect((await get(id, "0")).progress).toEqual({ percent: 100, step: "watch" });
  });

  it("is answered after its time, and at once for 0 and an ended operation", async () => {
    const id = started();
    const answer = get(id, "1500ms");
    await clock.advance(1_400);
    expect(await isAnswered(answer)).toBe(false);
    await clock.advance(200);
    expect((await answer).status).toBe("running");
    expect((await get(id, "0")).status).toBe("running");
    for (const wait of ["61", "61s", "2m", "999999999s", "60001ms"])
      await expect(get(id, wait)).rejects.toMatchObject({ details: { field: "wait", issue: "Must be at most 60s" } });
    write(id, { status: "failed" });
    expect((await get(id, "60")).status).toBe("failed");
  });

  it("is answered when the service stops or its client goes, and then frees its place", async () => {
    const id = started();
    const gone = new AbortController();
    const all = Array.from({ length: 64 }, () => get(id, "60s", { signal: () => gone.signal }));
    await expect(get(id, "60s")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    gone.abort();
    for (const answer of await Promise.all(all)) expect(answer.status).toBe("running");
    const last = get(id, "60s");
    stopping.abort();
    expect((await last).status).toBe("running");
  });

  it("is refused once its credential has ended", async () => {
    const id = started();
    const before = operationHandlers({
      ...{ operations, requireScopes, clock, hasEnded: () => hasEnded },
      stopping: new AbortController().signal,
    });
    const answer = (async () =>
      before.getOperation({ params: { id }, query: { wait: "60s" } }, { ...context, caller }))();
    answer.catch(() => undefined);
    hasEnded = true;
    await clock.advance(200);
    await expect(answer).rejects.toMatchObject({ code: "UNAUTHORIZED" });
    hasEnded = false;
  });
});
