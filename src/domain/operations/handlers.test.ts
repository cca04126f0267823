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
  login: () => {
    throw new Error("no row of operations signs anybody in");
  },
  afterReply: () => undefined,
};
const start = (kind: string) => operations.start({ kind, input: {}, keyId: "k", idempotencyKey: null }).spec.id;

describe("operations for callers", () => {
  it("are answered with times as text, and without what is nobody's business", async () => {
    const id = start("a");
    const at = new Date(clock.now()).toISOString();
    store.claim(id, 1, launcher.begin());
    const error = { code: "UNAVAILABLE", message: "cannot: locked", details: { holder: "x" } } as const;
    const times = { startedAt: clock.now(), finishedAt: clock.now() };
    store.write(id, {
      ...queuedState,
      ...times,
      status: "failed",
      percent: 12,
      step: "unpack",
      phase: { secret: 1 },
      error,
    });
    store.appendLog(id, "line");
    const entry = {
      id,
      kind: "a",
      status: "failed",
      progress: { percent: 12, step: "unpack" },
      created_at: at,
      started_at: at,
      finished_at: at,
      result: null,
      error,
      cancellable: false,
    };
    expect(await handlers.getOperation({ params: { id }, query: {} }, context)).toEqual({ ...entry, log: ["line"] });
    expect(await handlers.listOperations({ query: {} }, context)).toEqual({
      ...{ operations: [entry], total: 1, limit: 50, next_cursor: null },
    });
    const other = start("b");
    expect(await handlers.listOperations({ query: { limit: 1 } }, context)).toMatchObject({
      operations: [{ id: other, status: "queued", started_at: null }],
      total: 2,
    });
    expect(await handlers.listOperations({ query: { status: "failed" } }, context)).toMatchObject({
      operations: [{ id }],
      total: 1,
    });
  });

  it.each(["id-none", "../id-1", ""])("are not found by %j", async (id) => {
    for (const query of [{}, { wait: "30s" }])
      await expect(handlers.getOperation({ params: { id }, query }, context)).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
  });
});

describe("a request that waits for an operation", () => {
  const caller = { keyId: "k", keyName: "n", credential: "key", scopes: [], expiresAt: null } as const;
  const get = async (id: string, wait: string, over: Partial<typeof context> & { caller?: typeof caller } = {}) =>
    (await handlers.getOperation(
      { params: { id }, query: { wait } },
      { ...context, caller, ...over },
    )) as OperationDetail;
  const write = (id: string, state: Partial<typeof queuedState>): void =>
    store.write(id, { ...queuedState, status: "running", startedAt: 1, ...state });
  const begun = (): string => {
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

  it("is answered when it ends, however many they are, with one read of it in each interval", async () => {
    const id = begun();
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

  it("is answered when its status changes, and not when only its progress does", async () => {
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

  it("is answered after the time, at once for 0 and for one that has ended, and refused beyond a minute", async () => {
    const id = begun();
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

  it("is answered when the service stops or its client goes, and takes no place after that", async () => {
    const id = begun();
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
    const id = begun();
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
