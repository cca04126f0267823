import { afterEach, beforeEach, expect, it } from "vitest";
import type { CreatedSession } from "#contract/sessions.ts";
import { openStream, refusedStream, type StreamConnection } from "../process/support/ws-client.ts";
import { send, startTestService, type TestService } from "./harness.ts";

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

interface Browser {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secret: string;
}

/** Signs in at the address of the streams, of whose port the cookie has the name. */
async function signIn(key = service.admin): Promise<Browser> {
  const { host } = new URL(url);
  const origin = url;
  const headers = { host, origin };
  const reply = await send(service, { method: "POST", path: "/api/v1/auth/sessions", body: { key }, headers });
  const { id, secret } = reply.json as CreatedSession;
  const [cookie = ""] = reply.headers["set-cookie"]?.split(";") ?? [];
  return { id, secret, headers: { cookie, origin, host } };
}

async function ticketOf({ headers, secret }: Browser): Promise<string> {
  const own = { ...headers, "x-steward-session": secret };
  const { json } = await send(service, { method: "POST", path: "/api/v1/auth/tickets", headers: own });
  return (json as { ticket: string }).ticket;
}

async function open(ticket: string, headers: Readonly<Record<string, string>>): Promise<StreamConnection> {
  const stream = await openStream(url, path, { query: { ticket }, headers });
  opened.push(stream);
  return stream;
}
const refused = async (ticket: string, headers: Readonly<Record<string, string>>): Promise<number> =>
  (await refusedStream(url, path, { query: { ticket }, headers })).status;

it("a ticket opens a stream once, with the cookie of its session and from its own page", async () => {
  const browser = await signIn();
  const { cookie: _, ...withoutCookie } = browser.headers;
  const ticket = await ticketOf(browser);
  const stream = await open(ticket, browser.headers);
  expect(await stream.first(1)).toHaveLength(1);
  expect(await refused(ticket, browser.headers)).toBe(401);
  // Without the cookie, and with that of another session: each uses the ticket up.
  const other = await signIn();
  for (const headers of [withoutCookie, other.headers]) {
    const next = await ticketOf(browser);
    expect(await refused(next, headers)).toBe(401);
    if (headers === other.headers) expect(await refused(next, browser.headers)).toBe(401);
  }
  const foreign = await ticketOf(browser);
  expect(await refused(foreign, { ...browser.headers, origin: "http://127.0.0.1:1" })).toBe(403);
  expect(await refused("hello", browser.headers)).toBe(401);
  expect(await refused(browser.secret, browser.headers)).toBe(401);
});

it("a ticket is valid for half a minute, and for streams only", async () => {
  const browser = await signIn();
  const ticket = await ticketOf(browser);
  const ordinary = await send(service, { path: `/api/v1/health?ticket=${ticket}`, headers: browser.headers });
  expect(ordinary.status).toBe(401);
  await service.clock.advance(30_000);
  expect(await refused(ticket, browser.headers)).toBe(401);
});

it("a ticket is refused beside a key", async () => {
  const browser = await signIn();
  expect(await refused(await ticketOf(browser), { ...browser.headers, "x-api-key": service.admin })).toBe(401);
});

it("the stream of a ticket ends with its session: by sign-out, by its key, and unused", async () => {
  const closedBy = async (end: (browser: Browser, key: string) => unknown): Promise<readonly unknown[]> => {
    const key = service.key(["health:read"]);
    const browser = await signIn(key);
    const stream = await open(await ticketOf(browser), browser.headers);
    await stream.first(1);
    await end(browser, key);
    const { code, reason } = await stream.closed;
    return [code, reason];
  };
  expect(await closedBy(({ id }) => service.service.sessions.end(id))).toEqual([4401, "session ended"]);
  const ofRevoked = await closedBy((_, key) => service.service.keyring.revoke(key.slice(4, 12)));
  expect(ofRevoked[0]).toBe(4401);
  expect(await closedBy(() => service.clock.advance(31 * 60_000))).toEqual([4401, "session ended"]);
});

it("a ticket is in neither the log nor the audit log", async () => {
  const browser = await signIn();
  const ticket = await ticketOf(browser);
  await open(ticket, browser.headers);
  await refused(ticket, browser.headers);
  const seen = JSON.stringify([service.logLines(), service.audit.entries]);
  expect(seen).not.toContain(ticket.slice(13, 56));
  expect(seen).toContain(path);
});
