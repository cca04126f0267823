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

it("the record of the privileged side is the state of the operation", () => {
  const { service, root } = both();
  expect(service.read("a")).toEqual({ spec, state: queuedState, claim: undefined });
  expect(root.claim("a", 1, process(7))).toBe(true);
  root.write("a", running);
  root.appendLog("a", "line");
  expect(service.read("a")).toEqual({ spec, state: running, claim: { number: 1, process: process(7) } });
  expect(service.tail("a", 5)).toEqual(["line"]);
});

it("the privileged side copies an operation once", () => {
  const { asked, done, root } = both();
  root.claim("a", 1, process(7));
  asked.remove("a");
  asked.create({ ...spec, kind: "another" });
  expect([root.read("a")?.spec.kind, done.read("a")?.spec.kind]).toEqual(["k", "k"]);
  expect(root.claim("a", 2, process(8))).toBe(true);
  expect(root.read("a")?.spec.kind).toBe("k");
});

it("the privileged side resumes from a phase of its own alone", () => {
  const { asked, root } = both();
  asked.write("a", { ...running, phase: "forged" });
  expect(root.read("a")?.state?.phase).toBeNull();
  root.claim("a", 1, process(7));
  root.write("a", running);
  asked.write("a", { ...failed, phase: "forged" });
  expect(root.read("a")?.state).toMatchObject({ status: "failed", phase: "root's" });
});

it("an operation that the service has failed stays failed on both sides", () => {
  const { service, root } = both();
  expect(service.claim("a", 1, process(1))).toBe(true);
  service.write("a", failed);
  expect(root.read("a")?.state?.status).toBe("failed");
  expect(root.claim("a", 1, process(7))).toBe(false);
  root.write("a", running);
  expect(service.read("a")?.state).toEqual(failed);
});

it("each side claims an operation before it reads the record of the other, so that one wins at most", () => {
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
});
