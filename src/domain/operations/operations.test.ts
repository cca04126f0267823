import { beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "#domain/common/error.ts";
import type { OperationState, OperationStore, ProcessIdentity, TaskLauncher } from "#domain/ports/operations.ts";
import { createFakeClock } from "../../../test/fakes/clock.ts";
import { createFakeOperationStore } from "../../../test/fakes/operation-store.ts";
import { createFakeTaskLauncher } from "../../../test/fakes/task-launcher.ts";
import type { Operations, StartRequest } from "./operations.ts";
import { createOperations } from "./operations.ts";
import type { OperationKinds } from "./state.ts";
import { queuedState } from "./state.ts";
import type { Verb } from "./task.ts";
import { runTask } from "./task.ts";

const kinds: OperationKinds = {
  apply: { lock: "updates", canGoOn: true },
  rollback: { lock: "updates", canGoOn: false },
  test: { lock: "test", canGoOn: false },
};
const request = (over: Partial<StartRequest> = {}): StartRequest => ({
  kind: "apply",
  input: { a: 1, b: [2] },
  keyId: "key1",
  idempotencyKey: null,
  ...over,
});

let clock: ReturnType<typeof createFakeClock>;
let store: ReturnType<typeof createFakeOperationStore>;
let launcher: ReturnType<typeof createFakeTaskLauncher>;
let troubles: unknown[];
let operations: Operations;
let serviceProcess: ProcessIdentity;
let made = 0;

/** The service, started again: nothing is left of what the one before had in memory. */
function startService(between: Partial<OperationStore & TaskLauncher> = {}): void {
  if (serviceProcess !== undefined) launcher.kill(serviceProcess);
  operations?.dispose();
  serviceProcess = launcher.begin();
  operations = createOperations({
    store: { ...store, ...between },
    launcher: { ...launcher, ...between },
    clock,
    createId() {
      made += 1;
      return `id-${String(made).padStart(6, "0")}`;
    },
    kinds,
    self: serviceProcess,
    onTrouble: (error) => troubles.push(error),
  });
}

const run = (
  id: string,
  verb: Verb,
  self = launcher.begin(),
  signal = new AbortController().signal,
  between: Partial<OperationStore & TaskLauncher> = {},
  isHostStopping = () => Promise.resolve(false),
) =>
  runTask({
    isHostStopping,
    id,
    store: { ...store, ...between },
    launcher: { ...launcher, ...between },
    kinds,
    verbs: { apply: verb, rollback: verb, test: verb },
    clock,
    self,
    signal,
    onTrouble: (error) => troubles.push(error),
  });
/** A verb at work until it is killed. */
const endless: Verb = () => new Promise(() => undefined);
const statusOf = (id: string): string | undefined => operations.get(id)?.state.status;

beforeEach(() => {
  clock = createFakeClock();
  store = createFakeOperationStore();
  launcher = createFakeTaskLauncher();
  troubles = [];
  startService();
});

describe("an operation", () => {
  it("is queued, runs and ends with its result, progress and log", async () => {
    const { spec, state } = operations.start(request());
    expect([state.status, launcher.launched]).toEqual(["queued", [spec.id]]);
    const reported = Promise.withResolvers<void>();
    const task = run(spec.id, async (input, { progress }) => {
      progress.step(40, "unpack");
      progress.line("one\ntwo");
      await reported.promise;
      return { input };
    });
    expect(operations.get(spec.id)?.state).toMatchObject({ status: "running", startedAt: clock.now() });
    await clock.advance(1000);
    expect(operations.get(spec.id)?.state).toMatchObject({ percent: 40, step: "unpack", stepEndsAt: null });
    const waiting = operations.wait(spec.id, new AbortController().signal);
    reported.resolve();
    expect(await task).toBe("done");
    await clock.advance(1000);
    const { state: end } = await waiting;
    expect(end).toMatchObject({ status: "done", percent: 100, result: { input: { a: 1, b: [2] } }, error: null });
    expect(operations.log(spec.id, 10)).toEqual(["one", "two"]);
    expect(operations.list("done").map((each) => each.spec.id)).toEqual([spec.id]);
  });

  it("fails with the error of its verb, and hides unexpected errors", async () => {
    const first = operations.start(request()).spec.id;
    const refused = new DomainError("UNAVAILABLE", "cannot apply: locked", { holder: "apt" });
    expect(await run(first, () => Promise.reject(refused))).toBe("failed");
    expect(operations.get(first)?.state.error).toEqual({
      code: "UNAVAILABLE",
      message: "cannot apply: locked",
      details: { holder: "apt" },
    });
    const second = operations.start(request()).spec.id;
    await run(second, () => Promise.reject(new Error("ENOENT /secret")));
    expect(operations.get(second)?.state.error?.message).not.toContain("secret");
    expect(operations.log(second, 1000).join("\n")).toContain("ENOENT /secret");
  });

  it("resumes after the boot when the host shuts down", async () => {
    const { id } = operations.start(request()).spec;
    const stop = new AbortController();
    const stopping = launcher.begin();
    const verb: Verb = (_, { savePhase, signal }) => {
      savePhase("half-way");
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("stopped")));
      });
    };
    const task = run(id, verb, stopping, stop.signal, {}, () => Promise.resolve(true));
    stop.abort();
    expect(await task).toBe("left");
    launcher.kill(stopping);
    startService();
    await clock.advance(1000);
    expect(launcher.launched).toEqual([id, id]);
    await run(id, (_, { phase }) => Promise.resolve(phase));
    expect(operations.get(id)?.state).toMatchObject({ status: "done", result: "half-way" });
  });

  it("fails as stopped when its task is stopped", async () => {
    const { id } = operations.start(request()).spec;
    const stop = new AbortController();
    const task = run(
      id,
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("stopped")));
        }),
      launcher.begin(),
      stop.signal,
    );
    stop.abort();
    expect(await task).toBe("failed");
    expect(operations.get(id)?.state.error).toMatchObject({ code: "UNAVAILABLE", details: { reason: "stopped" } });
  });

  it("is refused while one with the same lock runs", async () => {
    const { id } = operations.start(request()).spec;
    void run(id, endless);
    expect(() => operations.start(request({ kind: "rollback" }))).toThrow(
      expect.objectContaining({ code: "CONFLICT", details: { operation_id: id, retryable: true } }),
    );
    operations.start(request({ kind: "test" }));
    const quick = operations.start.bind(operations, request({ kind: "test" }));
    expect(quick).toThrow(expect.objectContaining({ code: "CONFLICT" }));
    await run(operations.list()[0]?.spec.id ?? "", () => Promise.resolve(1));
    expect(quick().state.status).toBe("queued");
  });

  it("is the same one for the same idempotency key and caller, for a day", async () => {
    const keyed = request({ idempotencyKey: "k" });
    const { id } = operations.start(keyed).spec;
    expect(operations.start(request({ idempotencyKey: "k", input: { b: [2], a: 1 } })).spec.id).toBe(id);
    startService();
    expect(operations.start(keyed).spec.id).toBe(id);
    expect(() => operations.start({ ...keyed, input: {} })).toThrow(
      expect.objectContaining({
        code: "VALIDATION_ERROR",
        details: expect.objectContaining({ field: "Idempotency-Key" }),
      }),
    );
    expect(() => operations.start({ ...keyed, kind: "test" })).toThrow(
      expect.objectContaining({ code: "VALIDATION_ERROR" }),
    );
    await run(id, () => Promise.resolve(1));
    expect(operations.start({ ...keyed, keyId: "key2" }).spec.id).not.toBe(id);
    await run(operations.list()[0]?.spec.id ?? "", () => Promise.resolve(1));
    expect(operations.start(keyed).spec.id).toBe(id);
    await clock.advance(24 * 60 * 60 * 1000);
    expect(operations.start(keyed).spec.id).not.toBe(id);
  });
});

describe("the task of an operation that was killed", () => {
  it("is started again from its last phase if its kind can resume, three times in all", async () => {
    const { id } = operations.start(request()).spec;
    const phases: unknown[] = [];
    for (const attempt of [1, 2, 3]) {
      expect(launcher.launched).toHaveLength(attempt);
      const process = launcher.begin();
      void run(
        id,
        (_, { phase, savePhase }) => {
          phases.push(phase);
          savePhase({ attempt });
          return endless(null, {} as never);
        },
        process,
      );
      launcher.kill(process);
      expect(operations.get(id)?.state.status).toBe(attempt < 3 ? "running" : "failed");
    }
    expect(phases).toEqual([null, { attempt: 1 }, { attempt: 2 }]);
    expect(launcher.launched).toHaveLength(3);
    expect(operations.get(id)?.state.error).toMatchObject({ details: { reason: "interrupted", attempts: 3 } });
    expect(await run(id, () => Promise.resolve(1))).toBe("left");
  });

  it("fails its operation if its kind cannot resume, and is not started twice", async () => {
    const { id } = operations.start(request({ kind: "rollback" })).spec;
    const process = launcher.begin();
    void run(id, endless, process);
    launcher.kill(process);
    // A second task that comes before anybody has looked.
    expect(await run(id, () => Promise.resolve(1))).toBe("left");
    expect(operations.get(id)?.state.error).toMatchObject({ details: { reason: "interrupted", attempts: 1 } });
    expect(launcher.launched).toHaveLength(1);
  });

  it("is noticed without a request", async () => {
    const { id } = operations.start(request()).spec;
    const process = launcher.begin();
    void run(id, endless, process);
    launcher.kill(process);
    await clock.advance(5_000);
    expect(launcher.launched).toEqual([id, id]);
  });
});

describe("a race between task and service", () => {
  const done: OperationState = { ...queuedState, status: "done", result: "first" };
  const refused: Verb = () => Promise.reject(new Error("started twice"));
  const signal = new AbortController().signal;

  it("a task exits when another one has claimed the operation first", async () => {
    const { id } = operations.start(request()).spec;
    let first: Promise<unknown> | undefined;
    const second = await run(id, refused, launcher.begin(), signal, {
      claim(...words) {
        first ??= run(id, () => Promise.resolve("first"));
        return store.claim(...words);
      },
    });
    expect([second, await first, operations.get(id)?.state.result]).toEqual(["left", "done", "first"]);
  });

  /** The one before ends, in good order, just when somebody asks whether it is still there. */
  const endsNow = (id: string): Partial<TaskLauncher> => ({
    isAlive() {
      store.write(id, done);
      return false;
    },
  });

  it("a task does not resume an operation that has just ended", async () => {
    const { id } = operations.start(request()).spec;
    void run(id, endless);
    expect(await run(id, refused, launcher.begin(), signal, endsNow(id))).toBe("left");
    expect(operations.get(id)?.state.result).toBe("first");
  });

  it("the service does not fail an operation that has just ended", () => {
    const { id } = operations.start(request({ kind: "rollback" })).spec;
    void run(id, endless);
    startService(endsNow(id));
    expect(operations.get(id)?.state).toEqual(done);
  });

  it("the service does not fail an operation that its last attempt has just claimed", () => {
    const { id } = operations.start(request()).spec;
    for (const _ of [1, 2]) {
      const process = launcher.begin();
      void run(id, endless, process);
      launcher.kill(process);
      operations.get(id);
    }
    let hasStarted = false;
    startService({
      isAlive(process) {
        const isAlive = launcher.isAlive(process);
        if (!hasStarted) void run(id, endless);
        hasStarted = true;
        return isAlive;
      },
    });
    expect(statusOf(id)).toBe("running");
    expect(operations.get(id)?.state.error).toBeNull();
  });

  it("the service does not fail an operation that a late task has just claimed", async () => {
    const { id } = operations.start(request()).spec;
    operations.dispose();
    await clock.advance(61_000);
    let late: Promise<unknown> | undefined;
    startService({
      claim(...words) {
        late ??= run(id, () => Promise.resolve("late"));
        return store.claim(...words);
      },
    });
    expect(statusOf(id)).toBe("running");
    expect([await late, operations.get(id)?.state.result]).toEqual(["done", "late"]);
  });
});

describe("the task of an operation that never ran", () => {
  it("fails its operation when it cannot be started, and the idempotency key is free again", async () => {
    launcher.fault = new Error("no systemd");
    const keyed = request({ idempotencyKey: "k" });
    const { id } = operations.start(keyed).spec;
    await clock.advance(0);
    expect(operations.get(id)?.state.error).toMatchObject({ code: "UNAVAILABLE", details: { reason: "not_begun" } });
    expect(troubles).toEqual([launcher.fault]);
    launcher.fault = undefined;
    expect(operations.start(keyed).spec.id).not.toBe(id);
    expect(await run(id, () => Promise.resolve(1))).toBe("left");
  });

  it("fails its operation when it does not begin within a minute", async () => {
    const { id } = operations.start(request()).spec;
    await clock.advance(59_000);
    expect(statusOf(id)).toBe("queued");
    await clock.advance(2_000);
    expect(operations.get(id)?.state.error?.details).toMatchObject({ reason: "not_begun" });
    expect(launcher.launched).toEqual([id]);
    expect(await run(id, () => Promise.resolve(1))).toBe("left");
  });

  it("is started by the next service within a minute, and later fails its operation", async () => {
    const young = operations.start(request()).spec.id;
    await clock.advance(30_000);
    startService();
    expect(launcher.launched).toEqual([young, young]);
    await run(young, () => Promise.resolve(1));
    const old = operations.start(request()).spec.id;
    operations.dispose();
    await clock.advance(61_000);
    startService();
    expect(operations.get(old)?.state.error?.details).toMatchObject({ reason: "not_begun" });
    const back = operations.start(request()).spec.id;
    operations.dispose();
    clock.set(clock.now() - 3_600_000);
    startService();
    expect(statusOf(back)).toBe("failed");
  });
});

describe("a full disk", () => {
  it("does not stop a running operation, whose end is stored when there is space", async () => {
    const { id } = operations.start(request()).spec;
    const task = run(id, (_, { progress }) => {
      store.fault = new Error("ENOSPC");
      progress.step(10, "x");
      progress.line("lost");
      return Promise.resolve({ ok: true });
    });
    await clock.advance(10_000);
    expect(statusOf(id)).toBe("running");
    store.fault = undefined;
    await clock.advance(1_000);
    expect(await task).toBe("done");
    expect(operations.get(id)?.state.result).toEqual({ ok: true });
    expect(troubles.length).toBeGreaterThan(0);
  });

  it("fails an operation whose phase cannot be stored", async () => {
    const { id } = operations.start(request()).spec;
    const task = run(id, (_, { savePhase }) => {
      store.fault = new Error("ENOSPC");
      try {
        savePhase(1);
      } finally {
        store.fault = undefined;
      }
      return Promise.resolve(1);
    });
    expect(await task).toBe("failed");
  });

  it("does not hide that the task of an operation is gone", async () => {
    const { id } = operations.start(request({ kind: "rollback" })).spec;
    const process = launcher.begin();
    void run(id, endless, process);
    launcher.kill(process);
    store.stateFault = new Error("ENOSPC");
    expect(statusOf(id)).toBe("failed");
    expect(statusOf(id)).toBe("failed");
    store.stateFault = undefined;
    await clock.advance(5_000);
    expect(store.read(id)?.state?.status).toBe("failed");
  });

  it("refuses an operation that cannot be stored", () => {
    store.fault = new Error("ENOSPC");
    expect(() => operations.start(request())).toThrow("ENOSPC");
    expect(launcher.launched).toEqual([]);
  });
});

describe("a corrupt record of an operation", () => {
  it("leaves a running operation running, and fails one whose task is gone as damaged", () => {
    const { id } = operations.start(request()).spec;
    const process = launcher.begin();
    void run(id, endless, process);
    store.isDamaged = true;
    expect(statusOf(id)).toBe("running");
    launcher.kill(process);
    expect(operations.get(id)?.state.error?.details).toEqual({ reason: "damaged" });
    store.isDamaged = false;
    expect(statusOf(id)).toBe("failed");
  });
});

describe("waiting for an operation", () => {
  it("ends when the service stops, and the operation continues", async () => {
    const { id } = operations.start(request()).spec;
    void run(id, endless);
    const gone = new AbortController();
    const waiting = operations.wait(id, gone.signal);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: "UNAVAILABLE", details: { operation_id: id } });
    expect(statusOf(id)).toBe("running");
    await expect(operations.wait("id-none", gone.signal)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("stored operations", () => {
  it("are the newest 200 of the last 30 days, and all that have not ended", async () => {
    const running = operations.start(request()).spec.id;
    void run(running, endless);
    for (let at = 0; at < 210; at += 1) {
      const { id } = operations.start(request({ kind: "test" })).spec;
      await run(id, () => Promise.resolve(at));
    }
    operations.start(request({ kind: "test" }));
    expect(operations.list("done")).toHaveLength(200);
    expect(operations.list("done")[0]?.state.result).toBe(209);
    expect(statusOf(running)).toBe("running");
    await run(operations.list("queued")[0]?.spec.id ?? "", () => Promise.resolve(1));
    await clock.advance(0);
    clock.set(clock.now() + 31 * 24 * 60 * 60 * 1000);
    startService();
    expect(operations.list().map(({ spec }) => spec.id)).toEqual([running]);
  });
});
