import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";
import { toWire } from "./errors.ts";
import { maxRequestBytes, readMessages, sendMessage } from "./protocol.ts";
import { createRootRequests } from "./request.ts";

const never = new AbortController().signal;
let dir: string;
let server: Server | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "steward-root-"));
});
afterEach(() => {
  server?.close();
  server = undefined;
  rmSync(dir, { recursive: true });
});

type Messages = ReturnType<typeof readMessages>;

/** Plays root's side: for each connection what is given. */
async function root(serve: (socket: Socket, messages: Messages) => Promise<void>) {
  const path = join(dir, "socket");
  const listening = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    void serve(socket, readMessages(socket, maxRequestBytes)).finally(() => socket.end());
  });
  server = listening;
  await new Promise<void>((resolve) => listening.listen(path, resolve));
  const written: string[] = [];
  const requests = createRootRequests({
    path,
    onWrite(id, task) {
      written.push(`${id} ${task}`);
      return () => written.push(`unanswered ${id} ${task}`);
    },
  });
  return { ...requests, written };
}

const found = { status: "fail", message: "bad", details: {} } as const;

it("sends one line with what is requested, and gives what root answers", async () => {
  const got: unknown[] = [];
  const { request, written } = await root(async (socket, messages) => {
    got.push((await messages.next()).value);
    sendMessage(socket, { output: { requiresReboot: true, units: ["a.service"] } });
  });
  expect(await request("packages.restart_needs", {}, never)).toEqual({ requiresReboot: true, units: ["a.service"] });
  await request("packages.refresh", {}, never);
  const id = expect.stringMatching(/^request-[0-9a-f]{32}$/) as string;
  expect(got).toEqual([
    { id, task: "packages.restart_needs", input: {} },
    { id, task: "packages.refresh", input: {} },
  ]);
  // Only what changes the host is logged, before root hears of it.
  expect(written).toEqual([expect.stringMatching(/ packages\.refresh$/)]);
});

it("throws what root has thrown", async () => {
  const { request, written } = await root(async (socket, messages) => {
    await messages.next();
    sendMessage(socket, { error: toWire(new PluginNotRun("it did not end")) });
  });
  await expect(request("packages.refresh", {}, never)).rejects.toThrow(new PluginNotRun("it did not end"));
  expect(written).toHaveLength(1);
});

it.each<[string, (socket: Socket) => void]>([
  ["ends", (socket) => socket.destroy()],
  ["ends in the middle of its answer", (socket) => socket.end('{"output":')],
  ["answers nonsense", (socket) => socket.end("[]\n")],
])("says so when root's process %s", async (_, end) => {
  const { request, written } = await root(async (socket, messages) => {
    await messages.next();
    end(socket);
  });
  const error = await request("packages.refresh", {}, never).catch((reason: unknown) => reason);
  expect(String(error)).toMatch(/cannot request packages\.refresh from root: its process ended without an answer/);
  expect(findUnavailable(error)?.details).toMatchObject({ missing: "privileged side", retryable: true });
  expect(written).toEqual([written[0], `unanswered ${written[0]}`]);
});

it("says what to do when nothing listens", async () => {
  const { request } = createRootRequests({ path: join(dir, "none") });
  await expect(request("packages.refresh", {}, never)).rejects.toThrow(/systemctl start steward-task\.socket/);
});

it("closes the connection when nobody waits any longer, and then waits for the end of root's process", async () => {
  const abort = new AbortController();
  const events: string[] = [];
  const { request } = await root(async (socket, messages) => {
    await messages.next();
    abort.abort(new Error("no longer"));
    expect((await messages.next()).done).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 50));
    events.push("root ended");
    sendMessage(socket, { error: toWire(new Error("cancelled")) });
  });
  await expect(request("packages.refresh", {}, abort.signal)).rejects.toThrow("no longer");
  expect(events).toEqual(["root ended"]);
});

it("sends four requests at a time", async () => {
  let open = 0;
  let most = 0;
  const { request } = await root(async (socket, messages) => {
    await messages.next();
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setTimeout(resolve, 10));
    open -= 1;
    sendMessage(socket, { output: {} });
  });
  await Promise.all(Array.from({ length: 10 }, () => request("packages.refresh", {}, never)));
  expect(most).toBe(4);
});

it("lets root carry out what it has planned, over the same connection", async () => {
  let connections = 0;
  const { openFix, written } = await root(async (socket, messages) => {
    connections += 1;
    const { value } = await messages.next();
    expect(value).toMatchObject({ task: "fix", input: { check_id: "systemd_failed" } });
    sendMessage(socket, { progress: { found, plan: { steps: [{ action: "a" }] } } });
    expect((await messages.next()).value).toEqual({ proceed: true });
    sendMessage(socket, { output: { steps: [], after: { ...found, status: "pass" } } });
  });
  const fix = await openFix("systemd_failed", never);
  expect(fix).toMatchObject({ found, plan: { steps: [{ action: "a" }] } });
  expect(written).toEqual([]);
  expect(await fix.proceed(never)).toMatchObject({ after: { status: "pass" } });
  expect(written).toHaveLength(1);
  await fix.close();
  expect(connections).toBe(1);
});

it("ends a fix that is closed before anything was done", async () => {
  const ended = Promise.withResolvers<unknown>();
  const { openFix, written } = await root(async (socket, messages) => {
    await messages.next();
    sendMessage(socket, { progress: { found } });
    ended.resolve((await messages.next()).done);
  });
  await (await openFix("systemd_failed", never)).close();
  expect(await ended.promise).toBe(true);
  expect(written).toEqual([]);
});

it("does not start a fix when root's side cannot look", async () => {
  const { openFix } = await root(async (socket, messages) => {
    await messages.next();
    sendMessage(socket, { error: toWire(new Error("no such check")) });
  });
  await expect(openFix("nothing", never)).rejects.toThrow("no such check");
});

it("waits for the end of an operation", async () => {
  const { runOperation } = await root(async (socket, messages) => {
    expect((await messages.next()).value).toEqual({
      id: "20260101-000000-000-00000000",
      task: "operation.run",
      input: {},
    });
    sendMessage(socket, { output: {} });
  });
  await runOperation("20260101-000000-000-00000000");
});
