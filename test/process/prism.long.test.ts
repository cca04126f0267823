import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import type { Static, TSchema } from "typebox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { beginOperation, createClient } from "#client/index.ts";
import type { ErrorBody } from "#contract/error-body.ts";
import type { ErrorCode } from "#contract/errors.ts";
import { errorStatus } from "#contract/errors.ts";
import type { OperationName } from "#contract/index.ts";
import { operations } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import type { PasskeyCreationOptions } from "#contract/passkeys.ts";
import { createAuthenticator } from "../api/authenticator.ts";
import { boots } from "../journals/entries.ts";
import type { Field } from "../journals/export-format.ts";
import { smallJournal } from "../journals/small-journal.ts";
import { type ModelServer, startModelServer } from "./support/model-server.ts";
import { answerViolations, startPrism, violationsOf } from "./support/prism.ts";
import type { RunningService } from "./support/service.ts";
import { startService } from "./support/service.ts";
import { takeSnapshotFor } from "./support/snapshot.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

/** What fills the path, the query and the body of a request. */
interface Filling {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
}

const workspace = createWorkspace();
const hasSystemd = existsSync("/run/systemd/system");
let service: RunningService;
let models: ModelServer;
let proxy: string;
let brokenProxy: string;
let scopelessKey: string;
let unit: string;
const broken = createServer((request, response) => {
  const { url = "" } = request;
  response.writeHead(url === "/livez" ? 418 : 200, {
    "Content-Type": url === "/readyz" ? "text/html" : "application/json",
  });
  response.end(url === "/readyz" ? "<p>" : url.endsWith("/whoami") ? '{"key_id":5}' : '{"status":"ok"}');
});

/** A folder with one plugin that a service of any user may run. @returns the folder. */
function writeGreeting(): string {
  const dir = workspace.path("plugins");
  const folder = join(dir, "greet");
  mkdirSync(folder, { recursive: true });
  for (const path of [workspace.path("."), dir, folder]) chmodSync(path, 0o755);
  const manifest = 'name: greet\nversion: "1.0"\ntype: command\nexec: greet\n';
  writeFileSync(join(folder, "plugin.yaml"), manifest, { mode: 0o644 });
  writeFileSync(join(folder, "greet"), '#!/bin/sh\necho "Hello $1"\n', { mode: 0o755 });
  return dir;
}

/** Writes the journal of the service: the machine that the tests run on may have none. @returns its folder. */
function writeJournal(): string {
  const dir = workspace.path("journal");
  mkdirSync(dir);
  const fields: readonly Field[] = [
    ["PRIORITY", "4"],
    ["_SYSTEMD_UNIT", "a.service"],
    ["MESSAGE", "said"],
  ];
  const entry = { realtime: Date.now() * 1000, monotonic: 1, bootId: boots[0] ?? "", fields };
  const file = smallJournal([entry], { compact: true, keyedHash: true, compress: false });
  writeFileSync(join(dir, "system.journal"), file, { mode: 0o644 });
  return dir;
}

beforeAll(async () => {
  // Updates are asked for as plans alone.
  models = await startModelServer();
  const connector = `{ name: local, provider: openai-compatible, model: ${models.model}, base_url: "${models.url}" }`;
  const settings = [
    "updates: { enabled: true, backend: packages }",
    `connectors: { discover: false, list: [${connector}] }`,
    `plugins: { dirs: [${writeGreeting()}] }\n`,
  ].join("\n");
  const environment = { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: writeJournal() };
  service = await startService(workspace, { checks: true, settings, environment });
  const client = createClient({ url: service.url, key: service.adminKey });
  scopelessKey = (await client.createKey({ body: { name: "scopeless", scopes: [] } })).key;
  const { services } = await client.listServices();
  unit = services.find(({ active, name }) => active && !name.includes("@"))?.name ?? "no-such.service";
  broken.listen(0, "127.0.0.1");
  const address = await until("an address", () => broken.address() ?? undefined);
  if (typeof address === "string") throw new Error("not a TCP address");
  const started = [service.url, `http://127.0.0.1:${address.port}`].map((upstream) => startPrism(workspace, upstream));
  [proxy = "", brokenProxy = ""] = (await Promise.all(started)).map(({ url }) => url);
}, 600_000);
afterAll(async () => {
  broken.closeAllConnections();
  broken.close();
  await models.close();
  await workspace.dispose();
});

/** Ends what is going on, since there is one operation of a kind at a time, and a whole snapshot takes minutes. */
async function quiet(): Promise<void> {
  const client = createClient({ url: service.url, key: service.adminKey });
  await until("end of what is going on", async () => {
    const { operations: list } = await client.listOperations();
    const running = list.filter(({ finished_at: finishedAt }) => finishedAt === null);
    // What cannot be cancelled any more ends by itself.
    for (const { id } of running) await client.cancelOperation({ params: { id } }).catch(() => undefined);
    return running.length === 0 ? true : undefined;
  });
}

async function takeSnapshot(): Promise<string> {
  await quiet();
  return takeSnapshotFor(service);
}
let taken: Promise<string> | undefined;
/** One for all that do not delete it. */
function takenSnapshot(): Promise<string> {
  taken ??= takeSnapshot();
  return taken;
}

async function beginSession(): Promise<{ readonly id: string; readonly headers: Readonly<Record<string, string>> }> {
  const answer = await fetch(`${service.url}${apiBase}/auth/sessions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key: service.adminKey }),
  });
  const { id, secret } = (await answer.json()) as { readonly id: string; readonly secret: string };
  return { id, headers: headersOf(answer, { secret }) };
}

function headersOf(answer: Response, { secret }: { readonly secret: string }): Readonly<Record<string, string>> {
  const [pair = ""] = answer.headers.get("set-cookie")?.split(";") ?? [];
  // The proxy passes requests on to the name of the service, and knows the cookie by the name that it has on the usual port.
  const cookie = `${pair}; __Host-steward=documented`;
  return { Cookie: cookie, "X-Steward-Session": secret, Origin: service.url };
}

type Asking = Readonly<Record<string, string>>;

const post = (path: string, body: unknown, headers: Asking): Promise<Response> =>
  fetch(`${service.url}${apiBase}${path}`, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

/** The session that the last passkey was made in: it alone may register it. */
let registering: Asking = {};

/** What an authenticator makes of the options of an elevated session. */
async function newPasskey() {
  const { headers } = await beginSession();
  const elevated = await post("/auth/sessions/elevate", { key: service.adminKey }, headers);
  registering = headersOf(elevated, (await elevated.json()) as { readonly secret: string });
  const options = await post("/auth/passkeys/creation-options", {}, registering);
  const credential = createAuthenticator(service.url).create((await options.json()) as PasskeyCreationOptions);
  return { name: "laptop", credential };
}

/** The id of a passkey. */
async function registered(): Promise<string> {
  const made = await post("/auth/passkeys", await newPasskey(), registering);
  return ((await made.json()) as { readonly id: string }).id;
}

/** The key that has proposed the last call: it alone may take it back. */
let proposer = "";

/** The id of a call that waits for approval. */
async function proposed(): Promise<string> {
  const client = createClient({ url: service.url, key: service.adminKey });
  const { key } = await client.createKey({ body: { name: "proposes", scopes: ["propose:health:fix"] } });
  proposer = key;
  const body = { alert: "ServiceDown", until: inAnHour() } as const;
  const answer = await fetch(`${service.url}${apiBase}/alerts/silences`, {
    method: "POST",
    headers: { "X-API-Key": key, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { readonly id: string }).id;
}

const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

/** Whether a query may be left out: null for operations without one. */
type QueryOf<Row> = Row extends { readonly query: infer Query extends TSchema } ? Static<Query> : null;

/** Operations that cannot be called without parameters, a body or a query. */
type NeedsInput = {
  [K in OperationName]: (typeof operations)[K] extends { params: unknown } | { body: unknown }
    ? K
    : Record<never, never> extends QueryOf<(typeof operations)[K]>
      ? never
      : QueryOf<(typeof operations)[K]> extends null
        ? never
        : K;
}[OperationName];

/** What a good request of an operation has besides its path: a row of the table that needs input does not compile without it. */
const inputs: Readonly<
  Record<NeedsInput, () => Filling | Promise<Filling>> &
    Partial<Record<OperationName, () => Filling | Promise<Filling>>>
> = {
  async getLogContext() {
    const client = createClient({ url: service.url, key: service.adminKey });
    const { logs } = await client.listLogs({ query: { from: "oldest", boot: "0", limit: 1 } });
    return { query: `?cursor=${encodeURIComponent(logs[0]?.cursor ?? "")}` };
  },
  listLogFieldValues: () => ({ params: { name: "PRIORITY" } }),
  getCheck: () => ({ params: { check_id: "memory" } }),
  getCheckHistory: () => ({ params: { check_id: "memory" }, query: "?limit=3" }),
  getCheckMetrics: () => ({ query: "?check=memory&name=percent_used" }),
  // A plan alone, and of a check that has a fix wherever systemd runs.
  fixCheck: () => ({ params: { check_id: "systemd_failed" }, query: "?dry_run=true" }),
  explainCheck: () => ({ params: { check_id: "memory" }, body: { question: "Why?" } }),
  listServices: () => ({ query: "?status=inactive&limit=3" }),
  getService: () => ({ params: { name: unit } }),
  listUnits: () => ({ query: "?type=timer&limit=3" }),
  // A plan alone: the tests restart nothing on the machine that they run on.
  restartService: () => ({ params: { name: unit }, query: "?dry_run=true" }),
  startService: () => ({ params: { name: unit }, query: "?dry_run=true" }),
  stopService: () => ({ params: { name: unit }, query: "?dry_run=true" }),
  reloadService: () => ({ params: { name: unit }, query: "?dry_run=true" }),
  enableService: () => ({ params: { name: unit }, query: "?dry_run=true" }),
  disableService: () => ({ params: { name: unit }, query: "?dry_run=true" }),
  maskService: () => ({ params: { name: unit }, query: "?dry_run=true" }),
  unmaskService: () => ({ params: { name: unit }, query: "?dry_run=true" }),
  getDiskUsage: () => ({ query: "?path=/usr/share/doc&limit=3" }),
  listProcesses: () => ({ query: "?sort=memory&by_unit=true&limit=3" }),
  // A plan alone, and of a process of the test itself.
  async signalProcess() {
    const client = createClient({ url: service.url, key: service.adminKey });
    const { processes } = await client.listProcesses({ query: { pid: process.pid } });
    const body = { signal: "CONT", start_time: processes[0]?.start_time ?? "" };
    return { params: { pid: String(process.pid) }, query: "?dry_run=true", body };
  },
  listLogs: () => ({ query: "?priority=6&limit=3" }),
  canI: () => ({ query: "?operation=restartService&resource=cron" }),
  searchPackages: () => ({ query: "?search=dpkg&limit=3" }),
  installPackages: () => ({ query: "?dry_run=true", body: { packages: ["dpkg"] } }),
  removePackages: () => ({ query: "?dry_run=true", body: { packages: ["curl"] } }),
  purgePackages: () => ({ query: "?dry_run=true", body: { packages: ["curl"] } }),
  holdPackages: () => ({ query: "?dry_run=true", body: { packages: ["dpkg"] } }),
  unholdPackages: () => ({ query: "?dry_run=true", body: { packages: ["dpkg"] } }),
  getPackage: () => ({ params: { name: "dpkg" } }),
  // The lists of the machine are read; nothing on it is changed, and snapshots go to the workspace.
  applyUpdates: () => ({ query: "?dry_run=true", body: { type: "packages" } }),
  setTime: () => ({ query: "?dry_run=true", body: { timezone: "Etc/UTC" } }),
  setHostname: () => ({ query: "?dry_run=true", body: { hostname: "web1" } }),
  rebootHost: () => ({ query: "?dry_run=true", body: { message: "a test" } }),
  cancelReboot: () => ({ query: "?dry_run=true" }),
  restartStale: () => ({ query: "?dry_run=true" }),
  createSnapshot: () => ({ query: "?dry_run=true", body: { description: "of a test" } }),
  diffSnapshot: async () => ({ params: { snapshot_id: await takenSnapshot() } }),
  diffSnapshotFile: async () => ({ params: { snapshot_id: await takenSnapshot() }, query: "?path=/etc/hostname" }),
  rollback: async () => ({ params: { snapshot_id: await takenSnapshot() }, query: "?dry_run=true" }),
  deleteSnapshot: async () => ({ params: { snapshot_id: await takeSnapshot() } }),
  listOperations: () => ({ query: "?limit=3" }),
  async getOperation() {
    const client = createClient({ url: service.url, key: service.adminKey });
    await client.deleteSnapshot({ params: { snapshot_id: await takeSnapshot() } });
    const { operations: list } = await client.listOperations();
    return { params: { id: list[0]?.id ?? "none" } };
  },
  getConnector: () => ({ params: { name: "local" } }),
  getPlugin: () => ({ params: { name: "greet" } }),
  getAlert: () => ({ params: { name: "DiskSpaceLow" } }),
  getSnapshot: async () => ({ params: { snapshot_id: await takenSnapshot() } }),
  getKey: () => ({ params: { id: service.adminKey.slice(4, 12) } }),
  async getSilence() {
    const client = createClient({ url: service.url, key: service.adminKey });
    return { params: { id: (await client.silenceAlert({ body: { alert: "ServiceDown", until: inAnHour() } })).id } };
  },
  async cancelOperation() {
    const client = { url: service.url, key: service.adminKey };
    await quiet();
    const begun = await beginOperation(client, "createSnapshot", { body: {} }, crypto.randomUUID());
    return { params: { id: "operation" in begun ? begun.operation.id : "none" }, query: "?dry_run=true" };
  },
  testConnector: () => ({ params: { name: "local" } }),
  chat: () => ({ body: { messages: [{ role: "user", content: "How is it?" }], max_tokens: 10 } }),
  silenceAlert: () => ({ body: { alert: "ServiceDown", until: inAnHour(), comment: "of a test" } }),
  async removeSilence() {
    const client = createClient({ url: service.url, key: service.adminKey });
    return { params: { id: (await client.silenceAlert({ body: { alert: "ServiceDown", until: inAnHour() } })).id } };
  },
  listNotifications: () => ({ query: "?limit=3" }),
  testNotifications: () => ({ body: {} }),
  enablePlugin: () => ({ params: { name: "greet" }, body: { confirm: false } }),
  disablePlugin: () => ({ params: { name: "greet" } }),
  async runPlugin() {
    const client = createClient({ url: service.url, key: service.adminKey });
    await client.enablePlugin({ params: { name: "greet" }, body: {} });
    return { params: { name: "greet" }, body: { args: ["you"], stdin: "" } };
  },
  createKey: () => ({ body: { name: "made", scopes: ["viewer"], expires_at: "2999-01-01T00:00:00Z" } }),
  async revokeKey() {
    const client = createClient({ url: service.url, key: service.adminKey });
    return { params: { id: (await client.createKey({ body: { name: "to be revoked", scopes: [] } })).id } };
  },
  createSession: () => ({ body: { key: service.adminKey } }),
  createPasskey: async () => ({ body: await newPasskey() }),
  removePasskey: async () => ({ params: { id: await registered() } }),
  elevateSession: () => ({ body: { key: service.adminKey } }),
  endSession: async () => ({ params: { id: (await beginSession()).id } }),
  getApproval: async () => ({ params: { id: await proposed() } }),
  approve: async () => ({ params: { id: await proposed() }, query: "?dry_run=true" }),
  deny: async () => ({ params: { id: await proposed() } }),
  cancelApproval: async () => ({ params: { id: await proposed() }, query: "?dry_run=true" }),
  createToken: () => ({ body: { scopes: ["system:read"], expires_in: 60 } }),
  listAudit: () => ({ query: "?limit=3" }),
  listTraces: () => ({ query: "?limit=5" }),
  async getTrace() {
    const client = createClient({ url: service.url, key: service.adminKey });
    await client.getSystemInfo();
    const { traces } = await client.listTraces({ query: { limit: 1 } });
    return { params: { trace_id: traces[0]?.trace_id ?? "" } };
  },
};
const goodRequest = async (name: OperationName): Promise<Filling> => (await inputs[name]?.()) ?? {};
const rows = Object.entries<Operation>(operations) as [OperationName, Operation][];

function send(
  base: string,
  { method, base: where, path }: Operation,
  { params = {}, query = "", body }: Filling,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  return fetch(`${base}${where === "root" ? "" : apiBase}${filled}${query}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { "Content-Type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

const admin = () => ({ "X-API-Key": service.adminKey });

/** Who asks: for a few operations a session or whoever has proposed a call, for all others an admin. */
async function caller(name: OperationName): Promise<Readonly<Record<string, string>>> {
  if (name === "createPasskey") return registering;
  if ((operations[name] as Operation).forSessions) return (await beginSession()).headers;
  return name === "cancelApproval" ? { "X-API-Key": proposer } : admin();
}

/** Asserts that the answer is this error, and one that the document has for the operation. */
async function expectDocumented(response: Response, code: ErrorCode): Promise<void> {
  const body = (await response.json()) as ErrorBody;
  expect({ status: response.status, code: body.error.code }).toEqual({ status: errorStatus[code], code });
  expect(answerViolations(response)).toEqual([]);
}

const needSystemd: readonly OperationName[] = [
  ...(["getService", "restartService", "startService", "stopService", "reloadService"] as const),
  ...(["enableService", "disableService", "maskService", "unmaskService"] as const),
  ...(["getTime", "setTime", "getHostname", "setHostname"] as const),
  ...(["getReboot", "rebootHost", "cancelReboot"] as const),
];

describe("good requests", () => {
  it.each(rows)("%s answers as the document says", async (name, operation) => {
    const response = await send(proxy, operation, await goodRequest(name), await caller(name));
    const isRefused = needSystemd.includes(name) && !hasSystemd;
    // Of a snapshot a plan is good enough, and a plan makes nothing.
    const status = name === "createSnapshot" ? 200 : (operation.status ?? 200);
    expect(response.status).toBe(isRefused ? errorStatus.UNAVAILABLE : status);
    expect(violationsOf(response)).toEqual([]);
  });

  it.each(rows.filter(([, { effect }]) => effect !== "read"))(
    "%s answers a plan as it says",
    async (name, operation) => {
      const response = await send(
        proxy,
        operation,
        { ...(await goodRequest(name)), query: "?dry_run=true" },
        await caller(name),
      );
      const success = needSystemd.includes(name) && !hasSystemd ? errorStatus.UNAVAILABLE : 200;
      expect(response.status).toBe(success);
      expect(violationsOf(response)).toEqual([]);
    },
  );
});

describe("refusals are in the document too", () => {
  const closed = rows.filter(([, { scope }]) => scope !== "public");
  const scoped = closed.filter(([, { scope }]) => scope !== "self");
  // A forwarding header, so that /metrics needs a key as well.
  const forwarded = { "X-Forwarded-For": "192.0.2.1" };

  // Of services of their own: one refuses an address for a minute after 60 failed logins.
  const perService = 50;
  describe.each(Array.from({ length: Math.ceil(closed.length / perService) }, (_, at) => at))("part %i", (part) => {
    let ownProxy: string;
    beforeAll(async () => {
      const own = await startService(workspace);
      ownProxy = (await startPrism(workspace, own.url)).url;
    });
    it.each(closed.slice(part * perService, (part + 1) * perService))("%s without a key", async (name, operation) => {
      await expectDocumented(await send(ownProxy, operation, await goodRequest(name), forwarded), "UNAUTHORIZED");
    });
  });

  it.each(scoped)("%s without the scope", async (name, operation) => {
    const headers = { ...forwarded, "X-API-Key": scopelessKey };
    await expectDocumented(await send(proxy, operation, await goodRequest(name), headers), "FORBIDDEN");
  });

  it.each(rows.filter(([, { query }]) => query !== undefined))("%s with a bad query", async (name, operation) => {
    const filling = {
      ...(await goodRequest(name)),
      query: "?limit=0&dry_run=maybe&refresh=maybe&files=maybe&security=maybe",
    };
    await expectDocumented(await send(proxy, operation, filling, admin()), "VALIDATION_ERROR");
  });

  it.each(rows.filter(([, { body }]) => body !== undefined))("%s with a bad body", async (name, operation) => {
    const filling = { ...(await goodRequest(name)), body: { scopes: 5, unknown: true } };
    await expectDocumented(await send(proxy, operation, filling, admin()), "VALIDATION_ERROR");
  });

  it("what is not there", async () => {
    const unknown = { params: { id: "00000000" } };
    await expectDocumented(await send(proxy, operations.revokeKey, unknown, admin()), "NOT_FOUND");
    if (!hasSystemd) return;
    const nothing = { params: { name: "no-such-unit.service" } };
    await expectDocumented(await send(proxy, operations.restartService, nothing, admin()), "NOT_FOUND");
  });

  it.skipIf(hasSystemd)("a restart where systemd is missing", async () => {
    const filling = { params: { name: "no-such-unit.service" } };
    await expectDocumented(await send(proxy, operations.restartService, filling, admin()), "UNAVAILABLE");
  });

  it("too many failed logins", async () => {
    const wrong = { ...forwarded, "X-API-Key": "wrong" };
    await until("a refusal for good", async () => {
      const response = await send(service.url, operations.whoami, {}, wrong);
      return response.status === errorStatus.RATE_LIMITED || undefined;
    });
    for (const [name, operation] of closed) {
      // The service refuses before it looks at the request, so that an empty one does.
      const filling = operation.effect === "read" ? await goodRequest(name) : { params: { id: "x", name: "x" } };
      await expectDocumented(await send(proxy, operation, filling, wrong), "RATE_LIMITED");
    }
  });
});

describe("the proxy", () => {
  it.each([
    ["a wrong type", operations.whoami],
    ["missing members", operations.getHealth],
    ["a status that is not in the document", operations.getLiveness],
    ["a media type that is not in the document", operations.getReadiness],
  ])("would notice %s", async (_, operation) => {
    const response = await send(brokenProxy, operation, {}, { "X-API-Key": "any" });
    await response.text();
    expect(answerViolations(response)).not.toEqual([]);
  });
});
