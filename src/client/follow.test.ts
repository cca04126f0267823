import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "./errors.ts";
import { followOperation, runOperation } from "./follow.ts";

// Pauses take no time: the next timer fires as soon as nothing else is to be done.
beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }).setTimerTickMode("nextTimerAsync"),
);
afterEach(() => void vi.useRealTimers());

type Step = () => Response | Promise<Response>;

const entry = (status: string, rest: Readonly<Record<string, unknown>> = {}) => ({
  id: "op-1",
  kind: "update",
  status,
  progress: { percent: 0, step: "" },
  created_at: "2026-11-26T00:00:00Z",
  started_at: null,
  finished_at: status === "running" ? null : "2026-11-26T00:00:05Z",
  result: null,
  error: null,
  log: [],
  ...rest,
});
const json = (status: number, body: unknown) => (): Response => Response.json(body, { status });
const lost = (): never => {
  throw new TypeError("fetch failed", { cause: new Error("ECONNRESET") });
};
const result = {
  operation_id: "op-1",
  success: true,
  snapshot_id: "12",
  packages_updated: 1,
  requires_reboot: false,
  packages: [],
  requires_restart: [],
  error: null,
};

/** A service that answers one request after another in the given way. */
function scripted(...steps: readonly Step[]) {
  const asked: { readonly url: URL; readonly key: string | null; readonly method: string }[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const step = steps[asked.length];
    asked.push({
      url: new URL(String(input instanceof Request ? input.url : input)),
      key: new Headers(init?.headers).get("Idempotency-Key"),
      method: init?.method ?? "GET",
    });
    if (step === undefined) throw new Error("one request too many");
    return step();
  };
  return { asked, options: { url: "http://127.0.0.1:1", fetch } };
}

describe("runOperation", () => {
  it("starts an operation once although connections break, and follows it to its result", async () => {
    const { asked, options } = scripted(
      lost,
      json(503, { error: { code: "UNAVAILABLE", message: "starting" } }),
      json(202, entry("running")),
      json(200, entry("running", { progress: { percent: 40, step: "unpacking" } })),
      lost,
      json(200, entry("done", { result })),
    );
    const steps: string[] = [];
    const answer = await runOperation(
      { ...options, onProgress: ({ status, progress }) => steps.push(`${status} ${progress.percent}`) },
      "applyUpdates",
      { body: { type: "all" } },
    );
    expect(answer).toEqual(result);
    expect(steps).toEqual(["running 40", "done 0"]);
    const started = asked.slice(0, 3);
    expect(started.map(({ method }) => method)).toEqual(["POST", "POST", "POST"]);
    expect(new Set(started.map(({ key }) => key)).size).toBe(1);
    expect(started[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
    expect(asked.slice(3).map(({ url }) => url.searchParams.get("wait"))).toEqual([null, "10s", "10s"]);
  });

  it("returns an answer that needed no operation", async () => {
    const { options } = scripted(json(200, result));
    expect(await runOperation(options, "applyUpdates", {})).toEqual(result);
  });

  it("rejects a result that does not match the contract", async () => {
    const { options } = scripted(json(202, entry("running")), json(200, entry("done", { result: { success: "yes" } })));
    await expect(runOperation(options, "applyUpdates", {})).rejects.toMatchObject({ code: "UNREADABLE" });
  });

  it("throws the error of the operation with its id", async () => {
    const error = { code: "CONFLICT", message: "another package manager is at work" };
    const { options } = scripted(json(202, entry("running")), json(200, entry("failed", { error })));
    const failure = await runOperation(options, "applyUpdates", {}).catch((reason: unknown) => reason);
    expect(failure).toBeInstanceOf(ApiError);
    expect(failure).toMatchObject({ ...error, details: { operation_id: "op-1" } });
  });

  it("is refused at once where the service refuses, or the address is malformed", async () => {
    const { asked, options } = scripted(json(403, { error: { code: "FORBIDDEN", message: "no scope" } }));
    await expect(runOperation(options, "applyUpdates", {})).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(asked.length).toBe(1);
    await expect(runOperation({ url: "not an address" }, "applyUpdates", {})).rejects.toThrow(/Invalid URL/);
  });
});

describe("followOperation", () => {
  it("ends with the last error when its patience or its signal ends", async () => {
    const { asked, options } = scripted(lost, lost, lost, lost, lost);
    await expect(followOperation({ ...options, patienceMs: 100 }, "op-1")).rejects.toThrow("fetch failed");
    expect(asked.length).toBe(2);
    const ended = new AbortController();
    const broken = scripted(() => {
      setTimeout(() => ended.abort(), 20);
      return lost();
    }, lost);
    await expect(followOperation({ ...broken.options, signal: ended.signal }, "op-1")).rejects.toThrow();
  });

  it("pauses when a service does not wait", async () => {
    const { asked, options } = scripted(
      ...Array.from({ length: 3 }, () => json(200, entry("running"))),
      json(200, entry("done")),
    );
    const startedAtMs = performance.now();
    expect(await followOperation(options, "op-1")).toMatchObject({ status: "done" });
    expect(asked.length).toBe(4);
    // Three waits were answered at once, the last with the end.
    expect(performance.now() - startedAtMs).toBe(1_000);
  });
});
