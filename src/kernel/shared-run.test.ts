import { expect, it } from "vitest";
import { createSharedRun } from "./shared-run.ts";

/** Work that ends when it is asked to, or stopped. */
function setUp() {
  const started: { readonly end: (value: string) => void; readonly signal: AbortSignal }[] = [];
  const shared = createSharedRun((signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    signal.addEventListener("abort", () => reject(signal.reason as Error));
    started.push({ end: resolve, signal });
    return promise;
  });
  return { started, shared };
}
const patient = new AbortController().signal;

it("a shared run serves all callers at the same time, and later ones get another", async () => {
  const { started, shared } = setUp();
  const both = Promise.all([shared(patient), shared(patient)]);
  started[0]?.end("done");
  expect(await both).toEqual(["done", "done"]);
  const next = shared(patient);
  started[1]?.end("again");
  expect([await next, started.length]).toEqual(["again", 2]);
});

it("a shared run continues while a caller waits, and stops without callers", async () => {
  const { started, shared } = setUp();
  const [one, other] = [new AbortController(), new AbortController()];
  const [first, second] = [shared(one.signal), shared(other.signal)];
  one.abort(new Error("one is gone"));
  await expect(first).rejects.toThrow("one is gone");
  expect(started[0]?.signal.aborted).toBe(false);
  other.abort(new Error("the other too"));
  // Who asks now is not given what is being stopped.
  const third = shared(patient);
  await expect(second).rejects.toThrow("the other too");
  expect(started.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  started[1]?.end("done");
  expect(await third).toBe("done");
});

it("a shared run fails for all callers, and does not begin for one that has gone", async () => {
  let runs = 0;
  const shared = createSharedRun(() => {
    runs += 1;
    return Promise.reject(new Error("nobody answers"));
  });
  const failing = [shared(patient), shared(patient)];
  for (const each of failing) await expect(each).rejects.toThrow("nobody answers");
  await expect(shared(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  expect(runs).toBe(1);
});
