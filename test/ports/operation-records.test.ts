import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { openAnswerFiles } from "#adapters/operations/answers.ts";
import { openOperationStore, openSharedOperationStore } from "#adapters/operations/index.ts";
import { readRequestedOperations } from "#adapters/operations/requested-operations.ts";
import { failedState, queuedState } from "#domain/operations/state.ts";
import { rootSide, serviceSide } from "#domain/operations/two-sided.ts";
import type { OperationSpec, OperationState, OperationStore } from "#domain/ports/operations.ts";
import { createIdempotency } from "#transports/http/idempotency.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { directoryPerTest } from "./support/directories.ts";

const uid = process.getuid?.() ?? 0;
const spec = (over: Partial<OperationSpec> = {}): OperationSpec => ({
  ...{ id: "a-1", kind: "apply", input: { names: ["a"] }, createdAt: 1, keyId: "k", idempotencyKey: null },
  ...over,
});
const running: OperationState = { ...queuedState, status: "running", startedAt: 2, percent: 7, step: "x", phase: [1] };
const failed = failedState(queuedState, { code: "UNAVAILABLE", message: "m" }, 9);
const process1 = { pid: 1, startTicks: 2, bootId: "b" };
const process2 = { pid: 3, startTicks: 4, bootId: "b" };
const isAllowed = ({ kind }: Pick<OperationSpec, "kind">): boolean => kind === "apply";

const at = directoryPerTest();
beforeEach(() => {
  mkdirSync(at("service"), { mode: 0o700 });
  mkdirSync(at("tasks/operations"), { recursive: true, mode: 0o750 });
});

interface Sides {
  readonly service: OperationStore;
  readonly root: OperationStore;
}

function onDisk(): Sides {
  const asked = openOperationStore({ stateDir: at("service") });
  const done = openSharedOperationStore({ stateDir: at("tasks") });
  const checked = readRequestedOperations({ stateDir: at("service"), uid, isAllowed });
  return { service: serviceSide(asked, done), root: rootSide(done, checked) };
}

describe("the operation store of two sides", () => {
  it("brings requests to root, and their outcome back", () => {
    const { service, root } = onDisk();
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
    const { service, root } = onDisk();
    service.create(spec());
    expect([service.claim("a-1", 1, process1), root.claim("a-1", 1, process2)]).toEqual([true, false]);
    expect([root.claim("a-1", 2, process2), service.claim("a-1", 2, process1)]).toEqual([true, false]);
    expect(service.read("a-1")?.claim?.number).toBe(2);
  });

  it("shows both sides an end that the service has written", () => {
    const { service, root } = onDisk();
    service.create(spec());
    service.claim("a-1", 1, process1);
    service.write("a-1", failed);
    expect([service.read("a-1")?.state, root.read("a-1")?.state?.status]).toEqual([failed, "failed"]);
  });

  it("brings root nothing that is not allowed", () => {
    const { service, root } = onDisk();
    service.create(spec({ kind: "shell" }));
    expect([root.read("a-1"), root.claim("a-1", 1, process1), root.ids()]).toEqual([undefined, false, []]);
  });

  it("has root's record when that of the service is gone", () => {
    const { service, root } = onDisk();
    service.create(spec());
    root.claim("a-1", 1, process1);
    root.write("a-1", running);
    service.remove("a-1");
    expect([service.read("a-1"), root.read("a-1")?.state]).toEqual([undefined, running]);
  });

  it("lets the group read what root writes, and nobody else", () => {
    const { service, root } = onDisk();
    service.create(spec());
    root.claim("a-1", 1, process1);
    root.write("a-1", running);
    root.appendLog("a-1", "x");
    const directory = at("tasks/operations/a-1");
    expect(statSync(directory).mode & 0o7777).toBe(0o2750);
    expect(readdirSync(directory).sort()).toEqual(["claim.1", "log", "spec.json", "state.json"]);
    for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o640);
    for (const name of readdirSync(at("service/operations/a-1")))
      expect(statSync(at("service/operations/a-1", name)).mode & 0o777).toBe(0o600);
  });

  it("writes nothing of root in the directory of the service", () => {
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

const open = () => openAnswerFiles({ stateDir: at() });
const directory = (...parts: readonly string[]): string => at("answers", ...parts);
const stored = (letter: string, at = 1) => ({
  id: letter.repeat(43),
  fingerprint: "f",
  at,
  answer: { status: 201, headers: { location: "/x" }, body: '{"ä":"\\u0000"}' },
});

describe("answers on disk that are replayed", () => {
  it("are private, and there for the next process until they are removed", () => {
    const files = open();
    files.save(stored("a"));
    files.save(stored("a", 2));
    files.save(stored("b"));
    expect(statSync(directory()).mode & 0o777).toBe(0o700);
    expect(readdirSync(directory()).map((name) => statSync(directory(name)).mode & 0o777)).toEqual([0o600, 0o600]);
    const byId = () => [...open().load()].sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(byId()).toEqual([stored("a", 2), stored("b")]);
    files.remove(stored("a").id);
    files.remove(stored("c").id);
    expect(byId()).toEqual([stored("b")]);
  });

  it("take no name that leads elsewhere", () => {
    const files = open();
    for (const id of ["", "../a", "a".repeat(42), `${"a".repeat(42)}/`]) {
      expect(() => files.save({ ...stored("a"), id })).toThrow(/cannot name/);
      expect(() => files.remove(id)).toThrow(/cannot name/);
    }
  });

  it("are left out and removed when they are corrupt, and nothing outside is touched", () => {
    const files = open();
    files.save(stored("a"));
    const victim = at("victim");
    writeFileSync(victim, "mine");
    symlinkSync(victim, directory(`${"l".repeat(43)}.json`));
    writeFileSync(directory(`${"d".repeat(43)}.json`), JSON.stringify(stored("a")));
    for (const [letter, text] of Object.entries({ e: "", f: "{", g: "[]", h: '{"id":1}', i: '{"answer":{}}' }))
      writeFileSync(directory(`${letter.repeat(43)}.json`), text);
    writeFileSync(directory(`${"a".repeat(43)}.json.new`), "half");
    mkdirSync(directory("directory"));
    expect(() => open().load()).not.toThrow();
    expect(open().load()).toEqual([stored("a")]);
    expect(readdirSync(directory())).toEqual([`${"a".repeat(43)}.json`]);
    expect(readFileSync(victim, "utf8")).toBe("mine");
  });

  it("outlive the service, for a day", async () => {
    const clock = createFakeClock();
    const start = () =>
      createIdempotency({ clock, files: open(), onTrouble: (error) => expect(error).toBeUndefined() });
    const signal = new AbortController().signal;
    const request = { id: "a".repeat(43), request: ["POST", "/a", ""] };
    const turn = await start().take(request, signal);
    if (turn.kind === "first") turn.end(stored("a").answer);
    expect(await start().take(request, signal)).toEqual({ kind: "replay", answer: stored("a").answer });
    await clock.advance(24 * 60 * 60 * 1000);
    expect((await start().take(request, signal)).kind).toBe("first");
    expect(readdirSync(directory())).toEqual([]);
  });
});
