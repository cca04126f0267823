import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { findUnavailable } from "#domain/common/host-unavailable.ts";
import { PluginNotRun } from "#domain/ports/plugins.ts";
import { maxRequestBytes, readMessages, sendMessage, toWire } from "./protocol.ts";
import { createRootRequests, type RequestRoot } from "./request.ts";
import type { RootTask } from "./tasks.ts";

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

it("a request to the privileged side is one line, and its answer is returned", async () => {
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

it("a request throws the error of the privileged side", async () => {
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
])("a request fails when the privileged side %s", async (_, end) => {
  const { request, written } = await root(async (socket, messages) => {
    await messages.next();
    end(socket);
  });
  const error = await request("packages.refresh", {}, never).catch((reason: unknown) => reason);
  expect(String(error)).toMatch(/cannot request packages\.refresh from root: its process ended without an answer/);
  expect(findUnavailable(error)?.details).toMatchObject({ missing: "privileged side", retryable: true });
  expect(written).toEqual([written[0], `unanswered ${written[0]}`]);
});

it("a request fails with a remedy when nothing listens", async () => {
  const { request } = createRootRequests({ path: join(dir, "none") });
  await expect(request("packages.refresh", {}, never)).rejects.toThrow(/systemctl start steward-task\.socket/);
});

const call = { path: "/srv/plugins/guard", digest: "0".repeat(64), timeoutMs: 1000 };
/** What is waited for until root's process has ended, though some of it changes nothing. */
const requireEnded: readonly [RootTask, (request: RequestRoot, signal: AbortSignal) => Promise<unknown>][] = [
  ["packages.refresh", (request, signal) => request("packages.refresh", {}, signal)],
  ["plugin.call", (request, signal) => request("plugin.call", call, signal)],
  ["plugin.try_start", (request, signal) => request("plugin.try_start", call, signal)],
  ["monitoring.run", (request, signal) => request("monitoring.run", { check_id: "slow" }, signal)],
];

it.each(requireEnded)(
  "an aborted request of %s closes its connection and waits for the end of the privileged side",
  async (_, ask) => {
    const abort = new AbortController();
    const events: string[] = [];
    const [hasHeard, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { request } = await root(async (socket, messages) => {
      await messages.next();
      abort.abort(new Error("no longer"));
      expect((await messages.next()).done).toBe(true);
      // The request has not ended by now.
      hasHeard.resolve();
      await mayEnd.promise;
      events.push("root ended");
      sendMessage(socket, { error: toWire(new Error("cancelled")) });
    });
    const answer = ask(request, abort.signal).finally(() => events.push("request ended"));
    answer.catch(() => undefined);
    await hasHeard.promise;
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).toEqual([]);
    mayEnd.resolve();
    await expect(answer).rejects.toThrow("no longer");
    expect(events).toEqual(["root ended", "request ended"]);
  },
);

it("four requests at a time are sent to the privileged side", async () => {
  const open: (() => void)[] = [];
  let served = 0;
  const { request } = await root(async (socket, messages) => {
    await messages.next();
    await new Promise<void>((resolve) => open.push(resolve));
    served += 1;
    sendMessage(socket, { output: {} });
  });
  const all = Promise.all(Array.from({ length: 10 }, () => request("packages.refresh", {}, never)));
  for (const most of [4, 4, 2]) {
    await expect.poll(() => open.length).toBe(most);
    for (const end of open.splice(0)) end();
  }
  await all;
  expect(served).toBe(10);
});

it("reads that root does not finish are given up by their callers, and hold up no change, nor its hooks and its plan", async () => {
  const hanging: (() => void)[] = [];
  const { request } = await root(async (socket, messages) => {
    const { value } = await messages.next();
    if ((value as { task: string }).task === "users.list") await new Promise<void>((resolve) => hanging.push(resolve));
    sendMessage(socket, { output: {} });
  });
  const callers = Array.from({ length: 6 }, () => new AbortController());
  const reads = callers.map((caller) => request("users.list", {}, caller.signal));
  const ends = Promise.allSettled(reads);
  await expect.poll(() => hanging.length).toBe(4);
  for (const caller of callers) caller.abort(new Error("given up"));
  expect((await ends).map((end) => end.status)).toEqual(Array.from({ length: 6 }, () => "rejected"));
  await request("packages.refresh", {}, never);
  // A hook and a plan of a change are no change themselves.
  await request("plugin.call", call, never);
  await request("packages.simulate", { type: "all", isSecurityOnly: false }, never);
  // Not more of them than that wait on root's side, however many ask.
  expect(hanging).toHaveLength(4);
  for (const end of hanging) end();
  expect(await request("users.sessions", {}, never)).toEqual({});
});

it("a fix is planned and carried out over one connection", async () => {
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

it("a fix that is closed before it was confirmed ends", async () => {
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

it("a request to run an operation ends with the operation", async () => {
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
