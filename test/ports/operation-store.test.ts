import { type ChildProcess, spawn } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createOperationId, isOperationId } from "#adapters/operations/files.ts";
import { openOperationStore } from "#adapters/operations/index.ts";
import { queuedState } from "#domain/operations/state.ts";
import type { OperationSpec, OperationState, OperationStore } from "#domain/ports/operations.ts";
import { createFakeOperationStore } from "../fakes/operation-store.ts";
import { byBreadth } from "../support/breadth.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { directoryPerTest } from "./support/directories.ts";
import { sourceOf } from "./support/programs.ts";

const at = directoryPerTest();
const openReal = (): OperationStore => openOperationStore({ stateDir: at() });
const directory = (...parts: readonly string[]): string => at("operations", ...parts);

const spec = (id: string, over: Partial<OperationSpec> = {}): OperationSpec => ({
  ...{ id, kind: "apply", input: { names: ["a"], deep: { x: null } }, createdAt: 1, keyId: "k" },
  ...{ idempotencyKey: null, ...over },
});
const running: OperationState = {
  ...{ ...queuedState, status: "running", startedAt: 2, percent: 7, phase: [1] },
  ...{ step: "x", stepEndsAt: 9 },
};
const process1 = { pid: 1, startTicks: 2, bootId: "b" };
const process2 = { pid: 3, startTicks: 4, bootId: "b" };

describe.each([
  ["fake", createFakeOperationStore],
  ["real", openReal],
])("the %s operation store", (_, make: () => OperationStore) => {
  it("records that one is to be cancelled, until that is withdrawn or it is removed", () => {
    const store = make();
    store.create(spec("a-1"));
    expect([store.isCancelRequested("a-1"), store.isCancelRequested("a-2")]).toEqual([false, false]);
    store.requestCancel("a-1");
    store.requestCancel("a-1");
    expect([store.isCancelRequested("a-1"), store.read("a-1")?.state]).toEqual([true, queuedState]);
    store.withdrawCancel("a-1");
    store.withdrawCancel("a-1");
    expect(store.isCancelRequested("a-1")).toBe(false);
    store.requestCancel("a-1");
    store.remove("a-1");
    expect(store.isCancelRequested("a-1")).toBe(false);
    expect(() => store.requestCancel("a-1")).toThrow();
    for (const cancel of ["open", "closing", "closed"] as const) {
      store.create(spec(`b-${cancel}`));
      store.write(`b-${cancel}`, { ...running, cancel });
      expect(store.read(`b-${cancel}`)?.state?.cancel).toBe(cancel);
    }
  });

  it("gives what was written", () => {
    const store = make();
    const asked = spec("a-1", { keyId: null, idempotencyKey: "i" });
    store.create(asked);
    expect(store.read("a-1")).toEqual({ spec: asked, state: queuedState, claim: undefined });
    store.write("a-1", running);
    expect(store.read("a-1")?.state).toEqual(running);
    const failed: OperationState = {
      ...running,
      status: "failed",
      finishedAt: 9,
      error: { code: "UNAVAILABLE", message: "m", details: { a: [1] } },
    };
    store.write("a-1", failed);
    store.write("a-1", failed);
    expect(store.read("a-1")?.state).toEqual(failed);
    expect(store.read("a-2")).toBeUndefined();
  });

  it("lists the newest first, and no two of one id", () => {
    const store = make();
    for (const id of ["20260101-2", "20260101-1", "20250101-9"]) store.create(spec(id));
    expect(store.ids()).toEqual(["20260101-2", "20260101-1", "20250101-9"]);
    expect(() => store.create(spec("20260101-2", { kind: "other" }))).toThrow();
    expect(store.read("20260101-2")?.spec.kind).toBe("apply");
    store.remove("20260101-1");
    expect(store.ids()).toEqual(["20260101-2", "20250101-9"]);
    expect(store.read("20260101-1")).toBeUndefined();
  });

  it("gives a claim to one alone", () => {
    const store = make();
    store.create(spec("a-1"));
    expect(store.claim("a-1", 1, process1)).toBe(true);
    expect(store.claim("a-1", 1, process2)).toBe(false);
    expect(store.read("a-1")?.claim).toEqual({ number: 1, process: process1 });
    expect(store.claim("a-1", 2, process2)).toBe(true);
    expect(store.claim("a-1", 2, process1)).toBe(false);
    expect(store.read("a-1")?.claim).toEqual({ number: 2, process: process2 });
  });

  it("keeps the last lines of a log", () => {
    const store = make();
    store.create(spec("a-1"));
    expect(store.tail("a-1", 10)).toEqual([]);
    for (const line of ["one", "", "três"]) store.appendLog("a-1", line);
    expect(store.tail("a-1", 10)).toEqual(["one", "", "três"]);
    expect(store.tail("a-1", 2)).toEqual(["", "três"]);
    expect(store.tail("a-2", 2)).toEqual([]);
  });
});

describe("the operation store on disk", () => {
  it("is private", () => {
    const store = openReal();
    store.create(spec("a-1"));
    store.write("a-1", running);
    store.claim("a-1", 1, process1);
    store.appendLog("a-1", "x");
    expect(statSync(directory()).mode & 0o777).toBe(0o700);
    expect(statSync(directory("a-1")).mode & 0o777).toBe(0o700);
    expect(readdirSync(directory("a-1")).sort()).toEqual(["claim.1", "log", "spec.json", "state.json"]);
    for (const name of readdirSync(directory("a-1"))) expect(statSync(directory("a-1", name)).mode & 0o777).toBe(0o600);
  });

  it("takes no name that leads elsewhere", () => {
    const store = openReal();
    mkdirSync(at("elsewhere"));
    writeFileSync(at("elsewhere/spec.json"), JSON.stringify(spec("../elsewhere")));
    for (const id of ["../elsewhere", "", ".", "..", "a/b", "A", "a\0", "-a", "x".repeat(65)]) {
      expect(store.read(id)).toBeUndefined();
      expect(store.tail(id, 1)).toEqual([]);
      expect(() => store.write(id, running)).toThrow(/cannot name/);
      expect(() => store.remove(id)).toThrow(/cannot name/);
      expect(() => store.create(spec(id))).toThrow(/cannot name/);
    }
    expect(readdirSync(directory())).toEqual([]);
  });

  it("does not show what is half made, half removed or not its own, and clears away what it removed", () => {
    const store = openReal();
    store.create(spec("a-1"));
    mkdirSync(directory(".new-b-1"));
    mkdirSync(directory(".old-c-1"));
    mkdirSync(directory("d-1"));
    writeFileSync(directory("e-1"), "");
    writeFileSync(directory("README"), "");
    expect(store.ids().filter((id) => store.read(id) !== undefined)).toEqual(["a-1"]);
    store.create(spec("b-1"));
    store.remove("a-1");
    expect(readdirSync(directory()).sort()).toEqual(["README", "b-1", "d-1", "e-1"]);
  });

  it.each([
    ["empty", ""],
    ["cut off", '{"status":"run'],
    ["of another shape", '{"status":"fine","percent":0}'],
    ["no object", "[]"],
    ["with a wrong error", JSON.stringify({ ...running, error: { code: "NO_SUCH", message: "m" } })],
  ])("distinguishes a record that is %s from an intact one", (_, text) => {
    const store = openReal();
    store.create(spec("a-1"));
    store.claim("a-1", 1, process1);
    writeFileSync(directory("a-1/state.json"), text);
    expect(store.read("a-1")).toEqual({ spec: spec("a-1"), state: undefined, claim: { number: 1, process: process1 } });
    writeFileSync(directory("a-1/claim.1"), text);
    expect(store.read("a-1")?.claim).toMatchObject({ number: 1, process: { pid: 0 } });
    store.write("a-1", running);
    expect(store.read("a-1")?.state).toEqual(running);
    writeFileSync(directory("a-1/spec.json"), text);
    expect(store.read("a-1")).toBeUndefined();
  });

  it("follows no link that was put in its way [temporary-files]", () => {
    const store = openReal();
    store.create(spec("a-1"));
    const victim = at("victim");
    writeFileSync(victim, "mine");
    rmSync(directory("a-1/state.json"));
    symlinkSync(victim, directory("a-1/state.json"));
    symlinkSync(victim, directory("a-1/log"));
    store.write("a-1", running);
    expect(store.read("a-1")?.state).toEqual(running);
    expect(() => store.appendLog("a-1", "x")).toThrow(/ELOOP/);
    expect(readFileSync(victim, "utf8")).toBe("mine");
  });

  it("bounds the log, its lines, and what they do to a terminal", () => {
    const store = openReal();
    store.create(spec("a-1"));
    store.appendLog("a-1", "\u001b[31mred\u0007\r\nnext\ttab");
    expect(store.tail("a-1", 1)).toEqual([" [31mred   next\ttab"]);
    for (let at = 0; at < 2500; at += 1) store.appendLog("a-1", `${at} ${"x".repeat(5000)}`);
    const size = ["log", "log.1"].reduce((sum, name) => sum + statSync(directory("a-1", name)).size, 0);
    expect(size).toBeLessThan(4.1 * 1024 * 1024);
    const lines = store.tail("a-1", 200);
    expect([lines.length, lines.at(-1)?.length, lines.at(-1)?.slice(0, 5), lines[0]?.slice(0, 5)]).toEqual([
      200,
      4096,
      "2499 ",
      "2300 ",
    ]);
  });

  it("keeps a line that was cut off apart from the next one", () => {
    const store = openReal();
    store.create(spec("a-1"));
    store.appendLog("a-1", "whole");
    store.appendLog("a-1", "broken off");
    truncateSync(directory("a-1/log"), 9);
    store.appendLog("a-1", "next");
    expect(store.tail("a-1", 10)).toEqual(["whole", "bro", "next"]);
  });

  it("makes ids that sort by time, and are names", () => {
    const timestamps = [0, 1, 999, 1000, Date.UTC(2026, 0, 2), Date.UTC(2026, 9, 30), Date.UTC(2126, 0, 1)];
    const ids = timestamps.map(createOperationId);
    expect([...ids].sort()).toEqual(ids);
    expect(ids.every(isOperationId)).toBe(true);
    expect(createOperationId(5)).not.toBe(createOperationId(5));
    expect(ids[3]).toMatch(/^19700101-000001-000-[0-9a-f]{8}$/);
  });
});

/** Runs a program on the store until it is killed or ends. */
function startWriter(program: string): ChildProcess {
  const text = `
    const { openOperationStore } = await import(${sourceOf("adapters/operations/index.ts")});
    const store = openOperationStore({ stateDir: ${JSON.stringify(at())} });
    ${program}`;
  return spawn(process.execPath, ["--input-type=module", "-e", text], { stdio: ["ignore", "pipe", "inherit"] });
}
const ended = (child: ChildProcess): Promise<void> => new Promise((resolve) => child.once("close", () => resolve()));
/** Collects what a program prints. */
function collect(child: ChildProcess) {
  let text = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  return () => text;
}

describe("a writer of operations that is killed", () => {
  const rounds = byBreadth(3, 12);
  const { fraction: random } = createRandom(seed);
  /** Kills it once it has written so often, as no other time of its own would be, and looks at the store until then. */
  async function killAfter(program: string, look: () => void = () => undefined): Promise<string> {
    const writer = startWriter(program);
    const reported = collect(writer);
    const writes = 1 + Math.floor(random() * 60);
    while (reported().split("\n").length <= writes) {
      look();
      await setImmediate();
    }
    writer.kill("SIGKILL");
    await ended(writer);
    return reported();
  }

  it("leaves an intact state, and never an older one than it was sure of [state-survives]", async () => {
    const store = openReal();
    store.create(spec("a-1"));
    let last = 0;
    const stateNow = (): number => {
      const state = store.read("a-1")?.state;
      const written = Number(state?.startedAt);
      const phase: unknown = state?.phase;
      if (phase !== null) expect(phase).toEqual({ at: written, text: state?.step });
      return written;
    };
    for (let round = 0; round < rounds; round += 1) {
      const program = `
        const { state } = store.read("a-1");
        for (let at = state.startedAt ?? 0; ; at += 1) {
          const text = String(at).repeat(50 + (at % 7) * 400);
          store.write("a-1", { ...state, status: "running", startedAt: at, step: text, phase: { at, text } });
          store.appendLog("a-1", "line " + at + " end");
          process.stdout.write(at + "\\n");
        }`;
      // Read by another process while it is written.
      const reported = await killAfter(program, () => void stateNow());
      const sure = Number(reported.slice(0, reported.lastIndexOf("\n")).split("\n").at(-1));
      const written = stateNow();
      expect(written).toBeGreaterThanOrEqual(Math.max(last, sure));
      last = written;
    }
    expect(last).toBeGreaterThan(rounds);
    for (const line of store.tail("a-1", 200)) expect(line).toMatch(/^line \d+ end$/);
  });

  it("leaves a new operation whole or none at all", async () => {
    const store = openReal();
    for (let round = 0; round < rounds; round += 1)
      await killAfter(`
        const spec = ${JSON.stringify(spec("x"))};
        for (let at = 0; ; at += 1) {
          store.create({ ...spec, id: "r${round}-" + at, input: "y".repeat(20_000) });
          process.stdout.write(".\\n");
        }`);
    const ids = store.ids();
    expect(ids.length).toBeGreaterThanOrEqual(rounds);
    for (const id of ids) expect(store.read(id)).toMatchObject({ spec: { id }, state: queuedState });
  });
});

describe("writers of operations at the same time", () => {
  it("claim against each other, and one of them has it", async () => {
    const store = openReal();
    const claims = 40;
    for (let at = 0; at < claims; at += 1) store.create(spec(`c-${at}`));
    const writers = [1, 2, 3, 4].map((pid) =>
      startWriter(`
        const got = [];
        for (let at = 0; at < ${claims}; at += 1)
          if (store.claim("c-" + at, 1, { pid: ${pid}, startTicks: 1, bootId: "b" })) got.push(at);
        process.stdout.write(JSON.stringify(got));`),
    );
    const outputs = await Promise.all(
      writers.map(async (writer) => {
        const reported = collect(writer);
        await ended(writer);
        return JSON.parse(reported()) as readonly number[];
      }),
    );
    expect(outputs.flat().sort((a, b) => a - b)).toEqual([...Array(claims).keys()]);
    for (const [index, got] of outputs.entries()) {
      for (const at of got) expect(store.read(`c-${at}`)?.claim?.process.pid).toBe(index + 1);
    }
  });
});
