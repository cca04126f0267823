import { expect, it } from "vitest";
import type { OperationSpec, OperationState, OperationStore } from "#domain/ports/operations.ts";
import { createFakeOperationStore } from "../../../test/fakes/operation-store.ts";
import { failedState, queuedState } from "./state.ts";
import { rootSide, serviceSide } from "./two-sided.ts";

const spec: OperationSpec = { id: "a", kind: "k", input: 1, createdAt: 1, keyId: null, idempotencyKey: null };
const failed = failedState(queuedState, { code: "UNAVAILABLE", message: "m" }, 9);
const running: OperationState = { ...queuedState, status: "running", startedAt: 2, phase: "root's" };
const process = (pid: number) => ({ pid, startTicks: pid, bootId: "b" });

function both() {
  const [asked, done] = [createFakeOperationStore(), createFakeOperationStore()];
  asked.create(spec);
  return { asked, done, service: serviceSide(asked, done), root: rootSide(done, asked) };
}

it("has root's record as what became of what was asked", () => {
  const { service, root } = both();
  expect(service.read("a")).toEqual({ spec, state: queuedState, claim: undefined });
  expect(root.claim("a", 1, process(7))).toBe(true);
  root.write("a", running);
  root.appendLog("a", "line");
  expect(service.read("a")).toEqual({ spec, state: running, claim: { number: 1, process: process(7) } });
  expect(service.tail("a", 5)).toEqual(["line"]);
});

it("takes over a copy, once", () => {
  const { asked, done, root } = both();
  root.claim("a", 1, process(7));
  asked.remove("a");
  asked.create({ ...spec, kind: "another" });
  expect([root.read("a")?.spec.kind, done.read("a")?.spec.kind]).toEqual(["k", "k"]);
  expect(root.claim("a", 2, process(8))).toBe(true);
  expect(root.read("a")?.spec.kind).toBe("k");
});

it("goes on from a phase of root's own alone", () => {
  const { asked, root } = both();
  asked.write("a", { ...running, phase: "forged" });
  expect(root.read("a")?.state?.phase).toBeNull();
  root.claim("a", 1, process(7));
  root.write("a", running);
  asked.write("a", { ...failed, phase: "forged" });
  expect(root.read("a")?.state).toMatchObject({ status: "failed", phase: "root's" });
});

it("leaves what the service has written off, and the service keeps to it", () => {
  const { service, root } = both();
  expect(service.claim("a", 1, process(1))).toBe(true);
  service.write("a", failed);
  expect(root.read("a")?.state?.status).toBe("failed");
  expect(root.claim("a", 1, process(7))).toBe(false);
  root.write("a", running);
  expect(service.read("a")?.state).toEqual(failed);
});

/** The steps that a claim is made of, each side's in its order, in every way that they may follow each other. */
function interleavings(mine: number, theirs: number): readonly (readonly boolean[])[] {
  if (mine === 0 || theirs === 0) return [Array.from({ length: mine + theirs }, () => mine > 0)];
  return [
    ...interleavings(mine - 1, theirs).map((rest) => [true, ...rest]),
    ...interleavings(mine, theirs - 1).map((rest) => [false, ...rest]),
  ];
}

it("gives a number to one side at most, in whatever order their steps come", () => {
  // What each side does, found by letting it alone: it takes its own claim, and looks at the other's record after that.
  const order = (side: "service" | "root"): string[] => {
    const { asked, done } = both();
    done.create(spec);
    const seen: string[] = [];
    const named = (name: string, store: OperationStore): OperationStore => ({
      ...store,
      claim(...args) {
        seen.push(`${name} claim`);
        return store.claim(...args);
      },
      read(id) {
        seen.push(`${name} read`);
        return store.read(id);
      },
    });
    const [mine, theirs] = side === "service" ? [asked, done] : [done, asked];
    const store = (side === "service" ? serviceSide : rootSide)(named("own", mine), named("other", theirs));
    store.claim("a", 1, process(1));
    return seen.slice(seen.indexOf("own claim"));
  };
  expect([order("service"), order("root")]).toEqual([
    ["own claim", "other read"],
    ["own claim", "other read"],
  ]);
  for (const turns of interleavings(2, 2)) {
    const { asked, done } = both();
    done.create(spec);
    const stepsOf = (own: OperationStore, other: OperationStore, pid: number) => {
      let got = false;
      return {
        steps: [
          () => {
            got = own.claim("a", 1, process(pid));
          },
          () => {
            got &&= (other.read("a")?.claim?.number ?? 0) < 1;
          },
        ],
        got: () => got,
      };
    };
    const [service, root] = [stepsOf(asked, done, 1), stepsOf(done, asked, 2)];
    for (const isService of turns) (isService ? service : root).steps.shift()?.();
    expect([service.got(), root.got()].filter(Boolean).length).toBeLessThanOrEqual(1);
  }
});
