import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStream, refusedStream, type StreamConnection, type StreamOptions } from "../process/support/ws-client.ts";
import { errorWith, send, startTestService, type TestService } from "./harness.ts";

const path = "/api/v1/ws/health";
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

async function open(options: StreamOptions = {}, key = service.admin): Promise<StreamConnection> {
  const stream = await openStream(url, path, { ...options, headers: { "X-API-Key": key, ...options.headers } });
  opened.push(stream);
  return stream;
}
const runCheck = (id: string) => send(service, { path: `/api/v1/health/checks/${id}`, key: service.admin });
const short = (frames: StreamConnection["frames"]) =>
  frames.map(({ check_id: id, status, previous_status: previous }) => [id, status, previous]);

describe("frames of the health stream", () => {
  it("begin with every check's current state, for which those that have never run are run", async () => {
    service.checks.vital.finds = "fail";
    await runCheck("vital");
    const stream = await open();
    const frames = await stream.first(2);
    expect(frames[0]).toEqual({
      check_id: "vital",
      name: "Check of vital",
      status: "fail",
      message: "vital is fail",
      details: { run: 1 },
      duration_ms: 0,
      category: "system",
      severity: "critical",
      checked_at: "2026-01-01T00:00:00.000Z",
      fixable: false,
      fix_id: "repair",
      since: "2026-01-01T00:00:00.000Z",
      consecutive_failures: 1,
      state_type: "hard",
      attempt: 1,
      max_attempts: 1,
    });
    expect(frames[1]).toMatchObject({ check_id: "plain", status: "pass" });
    expect([service.checks.plain.runs(), service.checks.vital.runs()]).toEqual([1, 1]);
  });

  it("come for each run, no matter who asked for it, with the status before", async () => {
    const streams = [await open(), await open()];
    for (const stream of streams) await stream.first(2);
    service.checks.plain.finds = "warn";
    await runCheck("plain");
    service.checks.plain.finds = "skip";
    await runCheck("plain");
    await service.clock.advance(61_000);
    for (const stream of streams) {
      const frames = await stream.first(5);
      expect(short(frames.slice(2, 4))).toEqual([
        ["plain", "warn", "pass"],
        ["plain", "skip", "warn"],
      ]);
      expect(frames[4]).toHaveProperty("previous_status");
    }
  });

  it("are the same bytes for all, and what a later client begins with is the last of each check", async () => {
    const first = await open();
    await first.first(2);
    service.checks.vital.finds = "warn";
    await runCheck("vital");
    const later = await open();
    const [plain, vital] = await later.first(2);
    expect([plain, vital]).toEqual([
      first.frames.find(({ check_id: id }) => id === "plain"),
      (await first.first(3))[2],
    ]);
    expect(vital).toMatchObject({ status: "warn", previous_status: "pass" });
  });

  it("answer a message of the client with an error, and continue", async () => {
    const stream = await open();
    await stream.first(2);
    stream.send({ kind: "filter" });
    stream.socket.send("[]");
    await stream.handled();
    await runCheck("plain");
    expect(short(await stream.first(3)).at(-1)).toEqual(["plain", "pass", "pass"]);
    stream.socket.send("{");
    expect((await stream.closed).code).toBe(1007);
  });

  it("end when the service does", async () => {
    const stream = await open();
    await service.app.close();
    expect((await stream.closed).code).toBe(1001);
  });
});

describe("the upgrade to the health stream", () => {
  it("is refused without a key, and without the scope", async () => {
    expect(await refusedStream(url, path)).toMatchObject({ status: 401, body: { error: { code: "UNAUTHORIZED" } } });
    const headers = { "X-API-Key": service.key(["logs:read"]) };
    expect(await refusedStream(url, path, { headers })).toMatchObject({
      status: 403,
      body: errorWith("FORBIDDEN", { required_scope: "health:read", granted: ["logs:read"] }),
    });
    const stream = await open({}, service.key(["health:read"]));
    expect(await stream.first(2)).toHaveLength(2);
  });

  it("needs a WebSocket", async () => {
    const reply = await send(service, { path, key: service.admin });
    expect([reply.status, reply.json]).toMatchObject([400, { error: { details: { field: "Upgrade" } } }]);
  });
});
