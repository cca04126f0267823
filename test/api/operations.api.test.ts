import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStream, refusedStream, type StreamConnection } from "../process/support/ws-client.ts";
import { errorWith, send, startTestService, type TestService } from "./harness.ts";

const path = "/api/v1/ws/operations";
let service: TestService;
let url: string;
let opened: StreamConnection[];

beforeEach(async () => {
  opened = [];
  service = await startTestService();
  url = await service.app.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(async () => {
  for (const { socket } of opened) socket.terminate();
  await service.app.close();
});

async function open(key = service.admin, query: Record<string, string> = {}): Promise<StreamConnection> {
  const stream = await openStream(url, path, { query, headers: { "X-API-Key": key } });
  opened.push(stream);
  return stream;
}
const takeSnapshot = () =>
  send(service, { method: "POST", path: "/api/v1/updates/snapshots", key: service.admin, body: {} });

describe("/ws/operations", () => {
  it("sends every change of an operation to a key with updates:read", async () => {
    const stream = await open(service.key(["updates:read"]));
    expect((await takeSnapshot()).status).toBe(201);
    await expect.poll(() => stream.frames.map(({ status }) => status).at(-1)).toBe("done");
    expect(stream.frames[0]).toMatchObject({ id: "operation-1", kind: "snapshots.create", status: "queued" });
    expect(stream.frames.at(-1)).toMatchObject({ progress: { percent: 100 }, cursor: "operation-1" });
    const again = await open(service.admin, { cursor: String(stream.frames[0]?.["cursor"]) });
    expect(await again.first(1)).toMatchObject([{ id: "operation-1", status: "done" }]);
    const one = await open(service.admin, { id: "operation-1" });
    expect(await one.first(1)).toMatchObject([{ id: "operation-1", status: "done" }]);
  });

  it("is refused without the scope, for an unknown operation and for a bad cursor", async () => {
    const refused = (key: string, query: Record<string, string> = {}) =>
      refusedStream(url, path, { query, headers: { "X-API-Key": key } });
    expect(await refused(service.key(["updates:apply", "system:read"]))).toMatchObject({ status: 403 });
    expect(await refused(service.admin, { id: "operation-9" })).toMatchObject({ status: 404 });
    expect(await refused(service.admin, { cursor: ".." })).toMatchObject({ status: 400 });
  });
});

describe("GET /operations/{id}?wait", () => {
  const get = (id: string, wait: string) =>
    send(service, { path: `/api/v1/operations/${id}?wait=${wait}`, key: service.admin });

  it.each(["61s", "x", "1s&wait=2s"])("refuses to wait for %j", async (wait) => {
    await takeSnapshot();
    expect((await get("operation-1", wait)).json).toMatchObject(errorWith("VALIDATION_ERROR", { field: "wait" }));
  });
});

describe("DELETE /operations/{id}", () => {
  const started = (kind: string, input: unknown, id = "begun"): string => {
    const at = { createdAt: service.clock.now(), keyId: null, idempotencyKey: null };
    service.operationStore.create({ id, kind, input, ...at });
    return id;
  };
  const cancel = (id: string, key = service.admin, query = "") =>
    send(service, { method: "DELETE", path: `/api/v1/operations/${id}${query}`, key });
  const install = { request: { change: "install", names: ["viewer", "editor:amd64"], removesOnlyNamed: false } };

  it("cancels an operation that has not started, after a dry run, and is audited", async () => {
    const planned = started("snapshots.create", { description: "" }, "planned");
    expect((await cancel(planned, service.admin, "?dry_run=true")).json).toMatchObject({
      dry_run: true,
      steps: ["cancel snapshots.create planned, which has changed nothing yet"],
    });
    expect(service.operationStore.isCancelRequested(planned)).toBe(false);
    const id = started("snapshots.create", { description: "" });
    expect((await cancel(id)).json).toMatchObject({
      ...{ id, status: "failed", cancellable: false },
      error: { code: "CONFLICT", details: { reason: "cancelled" } },
    });
    expect((await cancel(id)).json).toMatchObject({
      id,
      status: "failed",
      error: { details: { reason: "cancelled" } },
    });
    expect(service.audit.entries.filter(({ operation }) => operation === "cancelOperation")).toMatchObject([
      { dry_run: true, outcome: "ok", operation_id: planned },
      { outcome: "ok", operation_id: id },
      { outcome: "ok", operation_id: id },
    ]);
  });

  it.each([
    ["updates.apply", {}, "updates:apply"],
    ["updates.rollback", {}, "updates:rollback"],
    ["snapshots.delete", {}, "updates:apply"],
    ["updates.restart_stale", {}, "updates:apply"],
    ["of.another.version", {}, "updates:apply"],
    ["packages.change", install, "packages:install"],
    ["packages.change", { request: { ...install.request, change: "purge" } }, "packages:remove"],
  ])("of %s with %j takes the scope that began it", async (kind, input, scope) => {
    // Looked at twice, it would have been started.
    const id = started(kind, input, "refused");
    const others = ["updates:apply", "updates:rollback", "packages:install", "packages:remove"].filter(
      (each) => each !== scope,
    );
    const refused = await cancel(id, service.key(["updates:read", ...others]));
    expect([refused.status, refused.json]).toMatchObject([
      403,
      { error: { details: { required_scope: expect.stringContaining(scope) } } },
    ]);
    expect((await cancel(id, service.key([scope]))).status).toBe(403);
    service.operationStore.remove(id);
    expect((await cancel(started(kind, input), service.key(["updates:read", scope]))).status).toBe(200);
  });

  it("takes the scope for every package that it names", async () => {
    const id = started("packages.change", install, "refused");
    const narrowed = (...names: readonly string[]) =>
      service.key(["updates:read", ...names.map((name) => `packages:install:${name}`)]);
    expect((await cancel(id, narrowed("viewer"))).status).toBe(403);
    service.operationStore.remove(id);
    expect((await cancel(started("packages.change", install), narrowed("viewer", "editor"))).status).toBe(200);
  });
});
