import fc from "fast-check";
import { expect, it } from "vitest";
import { createFairQueue, QueueFull } from "./fair-queue.ts";

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = new AbortController().signal;

/** A queue whose work ends when it is asked to. */
function start(limits: Partial<Parameters<typeof createFairQueue>[0]> = {}) {
  const queue = createFairQueue({ atOnce: 3, atOncePerOwner: 2, waitingPerOwner: 2, ...limits });
  const running: { readonly name: string; readonly end: () => void }[] = [];
  const ask = (name: string, signal = never): Promise<string> => {
    const owner = name.charAt(0);
    return queue(
      owner,
      async () => {
        await new Promise<void>((end) => running.push({ name, end }));
        return name;
      },
      signal,
    );
  };
  const end = async (name: string): Promise<void> => {
    const [work] = running.splice(
      running.findIndex((each) => each.name === name),
      1,
    );
    work?.end();
    await settle();
  };
  return { ask, end, names: () => running.map(({ name }) => name) };
}

it("a fair queue runs no more of one owner than its share", async () => {
  const { ask, end, names } = start();
  const all = ["a1", "a2", "a3", "a4"].map((name) => ask(name));
  await settle();
  expect(names()).toEqual(["a1", "a2"]);
  all.push(ask("b1"));
  await settle();
  expect(names()).toEqual(["a1", "a2", "b1"]);
  for (const name of ["b1", "a1", "a2", "a3", "a4"]) await end(name);
  expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "a4", "b1"]);
});

it("a fair queue gives a free place to the owner with the least running", async () => {
  const { ask, end, names } = start();
  for (const name of ["a1", "a2", "b1", "a3", "b2", "c1", "c2"]) void ask(name);
  await settle();
  expect(names()).toEqual(["a1", "a2", "b1"]);
  await end("a1");
  expect(names()).toEqual(["a2", "b1", "c1"]);
  await end("a2");
  expect(names()).toEqual(["b1", "c1", "a3"]);
  await end("b1");
  expect(names()).toEqual(["c1", "a3", "b2"]);
});

it("a fair queue refuses an owner beyond its share of the wait", async () => {
  const { ask, end, names } = start();
  for (const name of ["a1", "a2", "a3", "a4"]) void ask(name);
  await expect(ask("a5")).rejects.toBeInstanceOf(QueueFull);
  void ask("b1");
  await settle();
  expect(names()).toEqual(["a1", "a2", "b1"]);
  await end("a1");
  void ask("a6");
  await expect(ask("a7")).rejects.toBeInstanceOf(QueueFull);
});

it("a fair queue drops work whose signal fired, and continues after a failure", async () => {
  const { ask, end, names } = start({ atOnce: 1, atOncePerOwner: 1 });
  void ask("a1");
  const gone = new AbortController();
  const left = ask("b1", gone.signal);
  const last = ask("c1");
  await settle();
  gone.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  await expect(ask("b2", gone.signal)).rejects.toThrow("gone");
  await end("a1");
  expect(names()).toEqual(["c1"]);
  await end("c1");
  await expect(last).resolves.toBe("c1");
  const queue = createFairQueue({ atOnce: 1, atOncePerOwner: 1, waitingPerOwner: 1 });
  await expect(queue("a", () => Promise.reject(new Error("failed")), never)).rejects.toThrow("failed");
  await expect(queue("b", () => Promise.resolve(1), never)).resolves.toBe(1);
});

it("a fair queue keeps its limits and settles all work, in any order of events", async () => {
  const limits = { atOnce: 3, atOncePerOwner: 2, waitingPerOwner: 2 };
  const event = fc.oneof(
    fc.record({ kind: fc.constant("ask"), at: fc.nat(3) }),
    fc.record({ kind: fc.constant("end"), at: fc.nat(9) }),
    fc.record({ kind: fc.constant("leave"), at: fc.nat(9) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
      const queue = createFairQueue(limits);
      const running: { readonly owner: string; readonly end: () => void }[] = [];
      const waits: AbortController[] = [];
      let [asked, answered] = [0, 0];
      for (const { kind, at } of events) {
        if (kind === "ask") {
          const owner = `o${at}`;
          const gone = new AbortController();
          waits.push(gone);
          asked += 1;
          const work = (): Promise<void> => new Promise((end) => running.push({ owner, end }));
          queue(owner, work, gone.signal)
            .catch(() => undefined)
            .finally(() => {
              answered += 1;
            });
        } else if (kind === "end") running.splice(at, 1)[0]?.end();
        else waits[at]?.abort();
        await settle();
        expect(running.length).toBeLessThanOrEqual(limits.atOnce);
        for (const { owner } of running) {
          expect(running.filter((each) => each.owner === owner).length).toBeLessThanOrEqual(limits.atOncePerOwner);
        }
      }
      while (running.length > 0) {
        running.shift()?.end();
        await settle();
      }
      expect(answered).toBe(asked);
    }),
    { numRuns: 200 },
  );
});
