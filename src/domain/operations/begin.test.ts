import { describe, expect, it } from "vitest";
import { Accepted } from "#contract/operation-entry.ts";
import { DomainError } from "#domain/common/error.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { beginOperation } from "./handlers.ts";
import type { StartRequest } from "./operations.ts";
import type { Operation } from "./state.ts";
import { queuedState } from "./state.ts";

const caller = { keyId: "key1", keyName: "n", credential: "key", scopes: [], expiresAt: null } as const;
const signal = (): AbortSignal => new AbortController().signal;
const work = { kind: "apply", input: { a: 1 } };
const spec = { id: "id-1", createdAt: 0, keyId: "key1", idempotencyKey: null, ...work };

/** Operations of which one ends like this. */
function ending(state: Partial<Operation["state"]>) {
  const asked: StartRequest[] = [];
  return {
    asked,
    admit: (): Operation | undefined => undefined,
    start(request: StartRequest): Operation {
      asked.push(request);
      return { spec, state: queuedState };
    },
    wait: () => Promise.resolve({ spec, state: { ...queuedState, ...state } }),
    get: (): Operation => ({ spec, state: queuedState }),
  };
}
const clock = createFakeClock();
const options = { caller, signal, clock, touched: () => undefined, prefersAsync: false, idempotencyKey: undefined };

const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const stop = (): void => reject(new DomainError("UNAVAILABLE", "cannot wait any longer"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
  });

describe("an operation begun for a request", () => {
  it("is awaited, and its result is the answer", async () => {
    const operations = ending({ status: "done", result: { success: true } });
    expect(await beginOperation(operations, work, { ...options, idempotencyKey: "i" })).toEqual({ success: true });
    expect(operations.asked).toEqual([{ ...work, keyId: "key1", idempotencyKey: "i" }]);
  });

  it("is answered with its address for Prefer: respond-async", async () => {
    const answer = await beginOperation(ending({}), work, { ...options, prefersAsync: true });
    expect(answer).toBeInstanceOf(Accepted);
    expect(answer).toMatchObject({ operation: { id: "id-1", status: "queued" } });
  });

  it("is awaited for the time of Prefer: wait, and then goes on", async () => {
    const stays = { ...ending({}), wait: (_: string, over: AbortSignal) => untilAborted(over) };
    const answer = beginOperation(stays, work, { ...options, waitMs: 10_000 });
    await clock.advance(0);
    await clock.advance(9_000);
    expect(await Promise.race([answer, Promise.resolve("waits")])).toBe("waits");
    await clock.advance(1_000);
    expect(await answer).toMatchObject({ operation: { id: "id-1", status: "queued" } });
    for (const prefersAsync of [true, false]) {
      const preferred = { ...options, prefersAsync, waitMs: 10_000 };
      expect(await beginOperation(ending({ status: "done", result: 1 }), work, preferred)).toBe(1);
      expect(await beginOperation(stays, work, { ...preferred, waitMs: 0 })).toBeInstanceOf(Accepted);
      const stopped = AbortSignal.abort();
      expect(await beginOperation(stays, work, { ...preferred, signal: () => stopped })).toBeInstanceOf(Accepted);
    }
  });

  it("is checked before it is stored, and not again for a repeated idempotency key", async () => {
    const operations = ending({ status: "done", result: 1 });
    const refuse = () => Promise.reject(new Error("cannot be"));
    await expect(beginOperation(operations, work, options, refuse)).rejects.toThrow("cannot be");
    expect(operations.asked).toEqual([]);
    const begun = { ...operations, admit: () => ({ spec, state: queuedState }) };
    expect(await beginOperation(begun, work, options, refuse)).toBe(1);
  });

  it("throws its error with its id", async () => {
    const error = { code: "UNAVAILABLE", message: "cannot apply: locked", details: { holder: "apt" } } as const;
    await expect(beginOperation(ending({ status: "failed", error }), work, options)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "cannot apply: locked",
      details: { holder: "apt", operation_id: "id-1" },
    });
  });
});
