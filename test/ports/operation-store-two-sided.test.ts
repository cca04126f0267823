import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readAskedOperations } from "#adapters/operations/asked.ts";
import { openOperationStore, openSharedOperationStore } from "#adapters/operations/index.ts";
import { failedState, queuedState } from "#domain/operations/state.ts";
import { rootSide, serviceSide } from "#domain/operations/two-sided.ts";
import type { OperationSpec, OperationState, OperationStore } from "#domain/ports/operations.ts";
import { createFakeOperationStore } from "../fakes/operation-store.ts";

const uid = process.getuid?.() ?? 0;
const spec = (over: Partial<OperationSpec> = {}): OperationSpec => ({
  id: "a-1",
  kind: "apply",
  input: { names: ["a"] },
  createdAt: 1,
  keyId: "k",
  idempotencyKey: null,
  ...over,
});
const running: OperationState = { ...queuedState, status: "running", startedAt: 2, percent: 7, step: "x", phase: [1] };
const failed = failedState(queuedState, { code: "UNAVAILABLE", message: "m" }, 9);
const process1 = { pid: 1, startTicks: 2, bootId: "b" };
const process2 = { pid: 3, startTicks: 4, bootId: "b" };
const isAllowed = ({ kind }: Pick<OperationSpec, "kind">): boolean => kind === "apply";

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "steward-two-sided-"));
  mkdirSync(join(base, "service"), { mode: 0o700 });
  mkdirSync(join(base, "tasks/operations"), { recursive: true, mode: 0o750 });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));
const at = (...names: readonly string[]): string => join(base, ...names);

interface Sides {
  readonly service: OperationStore;
  readonly root: OperationStore;
}

function fakes(): Sides {
  const [asked, done] = [createFakeOperationStore(), createFakeOperationStore()];
  const checked: Pick<OperationStore, "read" | "isCancelRequested"> = {
    isCancelRequested: asked.isCancelRequested,
    read(id) {
      const found = asked.read(id);
      return found !== undefined && isAllowed(found.spec) ? found : undefined;
    },
  };
  return { service: serviceSide(asked, done), root: rootSide(done, checked) };
}

function onDisk(): Sides {
  const asked = openOperationStore({ stateDir: at("service") });
  const done = openSharedOperationStore({ stateDir: at("tasks") });
  const checked = readAskedOperations({ stateDir: at("service"), uid, isAllowed });
  return { service: serviceSide(asked, done), root: rootSide(done, checked) };
}

describe.each([
  ["fake", fakes],
  ["real", onDisk],
])("operation store of two sides (%s)", (_, make) => {
  it("brings what is asked to root, and what became of it back", () => {
    const { service, root } = make();
    service.create(spec());
    expect(root.read("a-1")).toEqual({ spec: spec(), state: queuedState, claim: undefined });
    expect(root.claim("a-1", 1, process1)).toBe(true);
    root.write("a-1", running);
    root.appendLog("a-1", "line");
    expect(service.read("a-1")).toEqual({ spec: spec(), state: running, claim: { number: 1, process: process1 } });
    expect(service.tail("a-1", 3)).toEqual(["line"]);
    expect([service.ids(), root.ids()]).toEqual([["a-1"], ["a-1"]]);
  });

  it("gives a claim to one side alone", () => {
    const { service, root } = make();
    service.create(spec());
    expect([service.claim("a-1", 1, process1), root.claim("a-1", 1, process2)]).toEqual([true, false]);
    expect([root.claim("a-1", 2, process2), service.claim("a-1", 2, process1)]).toEqual([true, false]);
    expect(service.read("a-1")?.claim?.number).toBe(2);
  });

  it("keeps to an end that the service has written", () => {
    const { service, root } = make();
    service.create(spec());
    service.claim("a-1", 1, process1);
    service.write("a-1", failed);
    expect([service.read("a-1")?.state, root.read("a-1")?.state?.status]).toEqual([failed, "failed"]);
  });

  it("brings nothing that is not allowed", () => {
    const { service, root } = make();
    service.create(spec({ kind: "shell" }));
    expect([root.read("a-1"), root.claim("a-1", 1, process1), root.ids()]).toEqual([undefined, false, []]);
  });

  it("has root's record when that of the service has gone", () => {
    const { service, root } = make();
    service.create(spec());
    root.claim("a-1", 1, process1);
    root.write("a-1", running);
    service.remove("a-1");
    expect([service.read("a-1"), root.read("a-1")?.state]).toEqual([undefined, running]);
  });
});

describe("operation store of two sides on disk", () => {
  it("lets the group read what root writes, and nobody else", () => {
    const { service, root } = onDisk();
    service.create(spec());
    root.claim("a-1", 1, process1);
    root.write("a-1", running);
    root.appendLog("a-1", "x");
    const folder = at("tasks/operations/a-1");
    expect(statSync(folder).mode & 0o7777).toBe(0o2750);
    expect(readdirSync(folder).sort()).toEqual(["claim.1", "log", "spec.json", "state.json"]);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o640);
    for (const name of readdirSync(at("service/operations/a-1")))
      expect(statSync(at("service/operations/a-1", name)).mode & 0o777).toBe(0o600);
  });

  it("writes nothing in the folder of the service", () => {
    const { service, root } = onDisk();
    service.create(spec());
    const before = readdirSync(at("service/operations/a-1"));
    root.claim("a-1", 1, process1);
    root.write("a-1", failed);
    root.appendLog("a-1", "x");
    expect(readdirSync(at("service/operations/a-1"))).toEqual(before);
    expect(readFileSync(at("service/operations/a-1/state.json"), "utf8")).toContain("queued");
  });

  it.each(["", "{", "[]", '{"status":"fine"}'])("takes a state of the service that is %j for none", (text) => {
    const { service, root } = onDisk();
    service.create(spec());
    writeFileSync(at("service/operations/a-1/state.json"), text);
    expect(root.read("a-1")?.state).toEqual(queuedState);
  });

  it("refuses what others may write to", () => {
    const { service, root } = onDisk();
    service.create(spec());
    chmodSync(at("service/operations"), 0o777);
    expect(() => root.read("a-1")).toThrow(/not of user/);
  });
});
