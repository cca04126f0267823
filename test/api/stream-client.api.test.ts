import { getEventListeners } from "node:events";
import { createServer } from "node:http";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type LogStreamOptions, streamLogs } from "#client/stream.ts";
import { createFakeJournal } from "../fakes/journal.ts";
import { startTestService, type TestService } from "./harness.ts";

let service: TestService;
let url: string;
beforeEach(async () => {
  service = await startTestService({ journal: createFakeJournal([{ message: "before" }]) });
  url = await service.app.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(() => service.app.close());

const stream = (options: Partial<LogStreamOptions> = {}) =>
  streamLogs({ url, key: service.admin, sleep: () => Promise.resolve(), ...options });

/** The messages of the next so many entries. */
async function take(entries: AsyncGenerator<{ readonly message: string }>, count: number): Promise<readonly string[]> {
  const messages: string[] = [];
  while (messages.length < count) {
    const { value, done } = await entries.next();
    if (done) break;
    messages.push(value.message);
  }
  return messages;
}

it("the log stream client gives the entries that pass its filter", async () => {
  const cursor = service.journal.write({ message: "start" });
  service.journal.write({ message: "one", unit: "web.service", priority: 3 });
  service.journal.write({ message: "two", unit: "web.service", priority: 6 });
  service.journal.write({ message: "three", priority: 3 });
  service.journal.write({ message: "four", unit: "web.service", priority: 4 });
  const entries = stream({ cursor, unit: "web", priority: "warn" });
  expect(await take(entries, 2)).toEqual(["one", "four"]);
  await entries.return();
});

it("the log stream client continues behind the last entry after a lost connection", async () => {
  const cursor = service.journal.write({ message: "start" });
  service.journal.write({ message: "one" });
  const entries = stream({ cursor });
  expect(await take(entries, 1)).toEqual(["one"]);
  service.service.cut();
  service.journal.write({ message: "two" });
  expect(await take(entries, 1)).toEqual(["two"]);
  await entries.return();
});

it("the log stream client asks before each connection whether it may be made", async () => {
  const cursor = service.journal.write({ message: "start" });
  service.journal.write({ message: "one" });
  let asked = 0;
  const allow = (): Promise<void> => {
    asked += 1;
    return asked === 1 ? Promise.resolve() : Promise.reject(new Error("another program listens there"));
  };
  const entries = stream({ cursor, allow });
  expect(await take(entries, 1)).toEqual(["one"]);
  service.service.cut();
  await expect(entries.next()).rejects.toThrow("another program listens there");
});

it.each([
  ["a wrong key", { key: "wrong" }, "UNAUTHORIZED", undefined],
  ["a bad filter", { priority: "loud" }, "VALIDATION_ERROR", "priority"],
  ["a bad cursor", { cursor: "x" }, "VALIDATION_ERROR", "cursor"],
])("the log stream client throws the refusal of the service: %s", async (_, options, code, field) => {
  await expect(stream(options).next()).rejects.toMatchObject({
    name: "ApiError",
    code,
    ...(field && { details: { field } }),
  });
});

it("the log stream client throws when the key ends, and ends when its signal fires", async () => {
  const key = service.key(["logs:read"]);
  const cursor = service.journal.write({ message: "start" });
  service.journal.write({ message: "one" });
  const revoked = stream({ key, cursor });
  const abort = new AbortController();
  const aborted = stream({ cursor, signal: abort.signal });
  expect([await take(revoked, 1), await take(aborted, 1)]).toEqual([["one"], ["one"]]);
  service.service.keyring.revoke(key.split("_")[1] ?? "");
  await expect(revoked.next()).rejects.toMatchObject({ code: "UNAUTHORIZED", message: "key revoked" });
  const last = aborted.next();
  abort.abort();
  expect(await last).toEqual({ done: true, value: undefined });
});

it("the log stream client throws that the key has ended, whatever went wrong before", async () => {
  const key = service.key(["logs:read"]);
  service.journal.available = false;
  const next = stream({ key, onNotice: () => void service.service.keyring.revoke(key.split("_")[1] ?? "") }).next();
  await expect(next).rejects.toMatchObject({ code: "UNAUTHORIZED", message: "key revoked", details: undefined });
});

it("the log stream client leaves no listener on its signal with each entry", async () => {
  const { signal } = new AbortController();
  const cursor = service.journal.write({ message: "start" });
  const entries = stream({ cursor, signal });
  for (let at = 0; at < 20; at += 1) {
    const next = take(entries, 1);
    service.journal.write({ message: `${at}` });
    expect(await next).toEqual([`${at}`]);
  }
  expect(getEventListeners(signal, "abort").length).toBeLessThan(5);
  await entries.return();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("the log stream client ends when its signal fires while it asks for the reason of a refusal", async () => {
  const abort = new AbortController();
  // Hangs up on the WebSocket, and never answers why.
  const silent = createServer(() => abort.abort());
  silent.on("upgrade", (_, socket) => socket.destroy());
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = silent.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const entries = stream({ url: `http://127.0.0.1:${port}`, signal: abort.signal });
  expect(await entries.next()).toEqual({ done: true, value: undefined });
  silent.closeAllConnections();
  await new Promise((resolve) => silent.close(resolve));
});
