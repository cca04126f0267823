import { describe, expect, it } from "vitest";
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
const handlers = operationHandlers({ operations });
const context = {
  caller: undefined,
  signal: () => new AbortController().signal,
  prefersAsync: () => false,
  drawsOn: () => undefined,
  idempotencyKey: () => undefined,
  touched: () => undefined,
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
    };
    expect(await handlers.getOperation({ params: { id } }, context)).toEqual({ ...entry, log: ["line"] });
    expect(await handlers.listOperations({ query: {} }, context)).toEqual({ operations: [entry], total: 1 });
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

  it.each(["id-none", "../id-1", ""])("are not found by %j", (id) => {
    expect(() => handlers.getOperation({ params: { id } }, context)).toThrow(
      expect.objectContaining({ code: "NOT_FOUND" }),
    );
  });
});
