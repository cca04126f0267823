import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import { openAuditLog, verifyAudit } from "#adapters/audit/index.ts";
import { operations } from "#contract/index.ts";
import { maxBodyBytes } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import type { AuditEntry } from "#domain/ports/audit.ts";
import { createFakeClock } from "../fakes/clock.ts";
import { openRaw, type RawConnection, rawConnection } from "../process/support/raw-socket.ts";
import { pathOf, startTestService, type TestService } from "./harness.ts";

const directories: string[] = [];

/** Removes what audited services have left. */
export const removeAudited = (): void => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
};

const everything = {
  since: undefined,
  until: undefined,
  operation: undefined,
  keyId: undefined,
  target: undefined,
  outcome: undefined,
  cursor: undefined,
};

/** A service on a port, whose audit log is that of files. */
export async function startAudited(overrides: Parameters<typeof startTestService>[0] = {}) {
  const stateDir = mkdtempSync(join(tmpdir(), "steward-answers-"));
  directories.push(stateDir);
  const troubles: unknown[] = [];
  const repaired: AuditEntry[] = [];
  const log = openAuditLog({
    stateDir,
    clock: createFakeClock(),
    onTrouble: (error) => void troubles.push(error),
    onRepaired: (_, entry) => void repaired.push(entry),
    onRotated: () => undefined,
  });
  const service = await startTestService({ audit: log, ...overrides });
  await service.app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = service.app.server.address() as AddressInfo;
  const sockets = { members: join(stateDir, "steward.sock"), administrator: join(stateDir, "root.sock") };
  for (const [name, path] of Object.entries(sockets))
    await new Promise<void>((resolve) => service.service.local[name as keyof typeof sockets].listen({ path }, resolve));
  return {
    service,
    port,
    sockets,
    /** Ends the service, and says what is odd about the log that it leaves. */
    async close(): Promise<void> {
      await service.service.close();
      const { entries } = await verified();
      log.dispose();
      expect(entries).toBe(log.head().seq);
    },
    verified,
    list: () => log.list({ ...everything, limit: 1000 }, new AbortController().signal),
  };
  async function verified() {
    const { broken, notes, entries } = await verifyAudit(log.directory, []);
    expect({ broken, notes, troubles, repaired }).toEqual({ broken: undefined, notes: [], troubles: [], repaired: [] });
    return { entries };
  }
}

type Audited = Awaited<ReturnType<typeof startAudited>>;

const all = Object.entries<Operation>(operations);
const streams = ["/api/v1/ws/logs", "/api/v1/ws/health"] as const;
export const targets = [
  ...all.map(([name, operation]) => ({ name, method: operation.method as string, path: pathOf(operation) })),
  ...streams.map((path) => ({ name: path, method: "GET", path })),
  { name: "no operation", method: "GET", path: "/api/v1/nothing" },
] as const;

/** What may be wrong with a path, or unusual. */
export const paths: Readonly<Record<string, (path: string) => string>> = {
  "as it is": (path) => path,
  "dry run": (path) => `${path}?dry_run=true`,
  refresh: (path) => `${path}?refresh=true`,
  "wrong query": (path) => `${path}?limit=x&wait=x`,
  "%": (path) => `${path}/%`,
  "%zz": (path) => path.replace(/[^/]*$/, "%zz"),
  "%c0%ae": (path) => path.replace(/[^/]*$/, "%c0%ae"),
  "long parameter": (path) => path.replaceAll(/some-\w+/g, "x".repeat(2_000)),
  "% in the query": (path) => `${path}?%zz=%`,
  NUL: (path) => `${path}%00`,
  "only %": () => "/%",
};

export const hosts: Readonly<Record<string, string>> = {
  ours: "Host: localhost\r\n",
  none: "",
  foreign: "Host: evil.example\r\n",
  malformed: "Host: a b/\r\n",
  two: "Host: localhost\r\nHost: localhost\r\n",
};

export const credentials: Readonly<Record<string, (service: TestService) => string>> = {
  admin: ({ admin }) => `X-API-Key: ${admin}\r\n`,
  none: () => "",
  wrong: () => "X-API-Key: wrong\r\n",
  narrow: (service) => `Authorization: Bearer ${service.key(["health:read"])}\r\n`,
  differing: (service) => `X-API-Key: ${service.admin}\r\nAuthorization: Bearer other\r\n`,
};

const json = (text: string): string =>
  `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
export const bodies: Readonly<Record<string, string>> = {
  none: "\r\n",
  empty: json("{}"),
  confirmed: json('{"confirm":true}'),
  "malformed JSON": json("{"),
  "wrong members": json('{"nothing":[1]}'),
  "wrong media type": "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
  "too large": `Content-Type: application/json\r\nContent-Length: ${maxBodyBytes + 1}\r\n\r\n`,
  "cut off": "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
  "chunk cut off": "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
  "chunk malformed": "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  expected: "Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}",
};

const upgrade =
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
export const extras: Readonly<Record<string, string>> = {
  none: "",
  upgrade,
  "upgrade without a key": upgrade.replace(/Sec-WebSocket-Key.*\r\n/, ""),
  "foreign origin": "Origin: https://evil.example\r\n",
  idempotent: "Idempotency-Key: same\r\n",
  "malformed idempotency key": `Idempotency-Key: ${"x".repeat(300)}\r\n`,
  forwarded: "X-Forwarded-For: 203.0.113.9\r\n",
};

export const methods: Readonly<Record<string, (method: string) => string>> = {
  own: (method) => method,
  other: (method) => (method === "GET" ? "DELETE" : "PUT"),
  unknown: () => "PROPFIND",
  none: () => "NONSENSE",
};

/** What becomes of the connection. */
export const endings: Readonly<Record<string, (connection: RawConnection) => Promise<unknown>>> = {
  answered: (connection) => connection.answers(1, 400).catch(() => undefined),
  gone(connection) {
    connection.close();
    return Promise.resolve();
  },
  reset(connection) {
    const { socket } = connection;
    // A Unix socket knows no reset.
    if (socket.remoteFamily === undefined) socket.destroy();
    else socket.resetAndDestroy();
    return Promise.resolve();
  },
  "half-closed": (connection) => {
    connection.socket.end();
    return connection.answers(1, 400).catch(() => undefined);
  },
};

interface Shape {
  readonly target: (typeof targets)[number];
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly credential: string;
  readonly extra: string;
  readonly body: string;
}

export const usual = {
  method: "own",
  path: "as it is",
  host: "ours",
  credential: "admin",
  extra: "none",
  body: "none",
};

function textOf({ target, ...shape }: Shape, service: TestService): string {
  const pick = <T>(table: Readonly<Record<string, T>>, name: string): T => {
    const found = table[name];
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };
  const method = pick(methods, shape.method)(target.method);
  const line = `${method} ${pick(paths, shape.path)(target.path)} HTTP/1.1\r\n`;
  const credential = pick(credentials, shape.credential)(service);
  return `${line}${pick(hosts, shape.host)}${credential}${pick(extras, shape.extra)}${pick(bodies, shape.body)}`;
}

/** What connections come in over. */
export const ways = ["tcp", "members", "administrator"] as const;
type Way = (typeof ways)[number];

export async function sendAll(
  { service, port, sockets }: Audited,
  shapes: readonly Shape[],
  { ending, way = "tcp" }: { readonly ending: string; readonly way?: Way },
): Promise<void> {
  const connection =
    way === "tcp" ? openRaw(port) : rawConnection(connect({ path: sockets[way], allowHalfOpen: true }));
  // Pipelined: the second is there before the first is answered.
  connection.send(shapes.map((shape) => textOf(shape, service)).join(""));
  await new Promise((resolve) => connection.socket.once("connect", resolve).once("close", resolve));
  await endings[ending]?.(connection);
  connection.close();
}

export const names = (table: Readonly<Record<string, unknown>>) => Object.keys(table);
const oftenUsual = (table: Readonly<Record<string, unknown>>) => {
  const [first = "", ...others] = names(table);
  return fc.oneof({ weight: 3, arbitrary: fc.constant(first) }, { weight: 2, arbitrary: fc.constantFrom(...others) });
};
export const anyShape: fc.Arbitrary<Shape> = fc.record({
  target: fc.constantFrom(...targets),
  method: oftenUsual(methods),
  path: oftenUsual(paths),
  host: oftenUsual(hosts),
  credential: oftenUsual(credentials),
  extra: oftenUsual(extras),
  body: oftenUsual(bodies),
});
