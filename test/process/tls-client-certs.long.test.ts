import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import {
  type Authority,
  type CertificateFiles,
  createAuthority,
  fingerprintOf,
  makePair,
  sha256Of,
} from "./support/certificates.ts";
import { runProgram, runSteward } from "./support/program.ts";
import { type RunningService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { openStream } from "./support/ws-client.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

let authority: Authority;
let server: CertificateFiles;
/** Both are shared by all tests that do not change how they run; each test has certificates of its own. */
let optional: RunningService;
let required: RunningService;
beforeAll(async () => {
  authority = await createAuthority(workspace, "authority");
  server = await makePair(workspace, "server");
  optional = await startService(workspace, { ...settingsOf(), checks: true });
  required = await startService(workspace, settingsOf(", client_certs: required"));
});

const settingsOf = (more = "") => ({
  settings: `tls: { cert: "${server.cert}", key: "${server.key}", client_ca: "${authority.cert}"${more} }\ntrusted_proxies: [127.0.0.1]\n`,
});

const read = (path: string): string => readFileSync(path, "utf8");

interface Asked {
  readonly code: number;
  readonly status: number;
  readonly json: unknown;
}

/** Asks with curl, as somebody with this certificate and key. */
async function ask(
  service: Pick<RunningService, "url">,
  path: string,
  { client, key, argv = [] }: { client?: CertificateFiles; key?: string; argv?: readonly string[] } = {},
): Promise<Asked> {
  const { code, stdout } = await runProgram(workspace, [
    "/usr/bin/curl",
    "-sS",
    "--noproxy",
    "*",
    "--cacert",
    server.cert,
    ...(client ? ["--cert", client.cert, "--key", client.key] : []),
    ...(key === undefined ? [] : ["-H", `X-API-Key: ${key}`]),
    ...argv,
    "-w",
    "\n%{http_code}",
    `${service.url}${path}`,
  ]);
  const [body = "", status] = stdout.split(/\n(?=\d+$)/);
  return { code, status: Number(status), json: body === "" ? undefined : JSON.parse(body) };
}

const whoami = (service: RunningService, given: { client?: CertificateFiles; key?: string }) =>
  ask(service, "/api/v1/auth/whoami", given);

interface Made {
  readonly id: string;
  readonly key: string;
}

/** Makes a key that goes with a certificate, as an administrator does. */
async function makeKey(
  service: RunningService,
  name: string,
  client?: CertificateFiles,
  scopes: readonly string[] = ["viewer"],
): Promise<Made> {
  const body = { name, scopes, ...(client && { client_cert_sha256: fingerprintOf(client.cert) }) };
  const argv = ["-H", "Content-Type: application/json", "-d", JSON.stringify(body)];
  const { status, json } = await ask(service, "/api/v1/auth/keys", { key: service.adminKey, argv });
  expect(status).toBe(201);
  return json as Made;
}

/** Asks who it is by a connection of the agent. */
const sendBy = (agent: Agent, service: RunningService) =>
  new Promise<{ status: number | undefined; connection: string | undefined }>((resolve, reject) => {
    get(new URL("/api/v1/auth/whoami", service.url), { agent }, (response) => {
      response.resume();
      response.once("end", () => resolve({ status: response.statusCode, connection: response.headers.connection }));
    }).once("error", reject);
  });

const revoke = (service: RunningService, id: string) =>
  ask(service, `/api/v1/auth/keys/${id}`, { key: service.adminKey, argv: ["-X", "DELETE"] });

const refusal = (service: RunningService, reason: string) =>
  until(`refusal for ${reason}`, () =>
    service.lines().find((line) => line["msg"] === "client certificate refused" && line["reason"] === reason),
  );

describe("a client certificate of a key", () => {
  it("authenticates as its key, is listed with it, and is revoked with it", async () => {
    const alice = await authority.issue("alice");
    const { id, key } = await makeKey(optional, "alice", alice);
    expect(await whoami(optional, { client: alice })).toMatchObject({
      status: 200,
      json: { key_id: id, name: "alice", credential: "certificate", expires_at: expect.any(String) },
    });
    expect(await whoami(optional, { client: alice, key })).toMatchObject({ json: { key_id: id, credential: "key" } });
    // The scopes are those of the key.
    expect((await ask(optional, "/api/v1/auth/keys", { client: alice })).status).toBe(403);
    const { json } = await ask(optional, "/api/v1/auth/keys", { key: optional.adminKey });
    expect(json).toMatchObject({
      keys: expect.arrayContaining([
        expect.objectContaining({ name: "admin", client_cert_sha256: null }),
        expect.objectContaining({ id, client_cert_sha256: sha256Of(alice.cert) }),
      ]),
    });
    expect((await revoke(optional, id)).status).toBe(200);
    expect((await whoami(optional, { client: alice })).status).toBe(401);
  });

  it("spends the budget of its key, and is in the audit log as it", async () => {
    const bob = await authority.issue("bob");
    const limited = `${settingsOf().settings}rate_limits: { per_minute: 3, per_hour: 100 }\n`;
    const service = await startService(workspace, { settings: limited });
    const { id, key } = await makeKey(service, "bob", bob);
    const refused = await ask(service, "/api/v1/system/services/none/restart", { client: bob, argv: ["-X", "POST"] });
    expect(refused.status).toBe(403);
    expect((await whoami(service, { key })).status).toBe(200);
    expect((await whoami(service, { client: bob })).status).toBe(200);
    expect((await whoami(service, { client: bob })).status).toBe(429);
    const { json } = await ask(service, "/api/v1/audit?limit=1&operation=restartService", { key: service.adminKey });
    expect(json).toMatchObject({ entries: [{ key_id: id, status: 403 }] });
  });

  it("is in the audit log by its fingerprint, also where a model calls with it", async () => {
    const dora = await authority.issue("dora");
    const { id } = await makeKey(optional, "dora", dora);
    const revision = "2026-07-28";
    const method = "tools/call";
    const name = "restartService";
    const meta = {
      "io.modelcontextprotocol/protocolVersion": revision,
      "io.modelcontextprotocol/clientInfo": { name: "probe", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const params = { name, arguments: { name: "none" }, _meta: meta };
    const headers = ["Accept: application/json, text/event-stream", "Content-Type: application/json"];
    headers.push(`MCP-Protocol-Version: ${revision}`, `Mcp-Method: ${method}`, `Mcp-Name: ${name}`);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const argv = [...headers.flatMap((header) => ["-H", header]), "-d", body];
    expect((await ask(optional, "/api/v1/mcp", { client: dora, argv })).status).toBe(200);
    await ask(optional, "/api/v1/system/services/none/restart", { client: dora, argv: ["-X", "POST"] });
    const { json } = await ask(optional, `/api/v1/audit?limit=2&operation=${name}`, { key: optional.adminKey });
    const entry = { key_id: id, certificate: sha256Of(dora.cert) };
    expect(json).toMatchObject({ entries: [entry, { ...entry, target: { via: "mcp" } }] });
  });

  it("opens streams, which end when its key is revoked", async () => {
    const carol = await authority.issue("carol");
    const { id } = await makeKey(optional, "carol", carol);
    const stream = await openStream(optional.url, "/api/v1/ws/health", {
      ca: read(server.cert),
      client: { cert: read(carol.cert), key: read(carol.key) },
    });
    await stream.first(1);
    await revoke(optional, id);
    expect(await stream.closed).toMatchObject({ code: 4401, reason: "key revoked" });
  });
});

describe("a call proposed by a client certificate", () => {
  it("waits for another key, which may come by certificate too", async () => {
    const [grace, heidi] = [await authority.issue("grace"), await authority.issue("heidi")];
    const proposes = await makeKey(optional, "grace", grace, ["propose:health:fix"]);
    const approves = await makeKey(optional, "heidi", heidi, ["health:fix"]);
    const post = (path: string, body: object, given: { client?: CertificateFiles; key?: string }) =>
      ask(optional, `/api/v1${path}`, {
        ...given,
        argv: ["-H", "Content-Type: application/json", "-d", JSON.stringify(body)],
      });
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const parked = await post("/alerts/silences", { alert: "ServiceDown", until }, { client: grace });
    expect(parked).toMatchObject({ status: 202, json: { status: "pending", proposer: { key_id: proposes.id } } });
    const approve = (given: { client?: CertificateFiles; key?: string }) =>
      post(`/approvals/${(parked.json as { id: string }).id}/approve`, {}, given);
    for (const given of [{ client: grace }, { key: proposes.key }, { client: grace, key: proposes.key }])
      expect(await approve(given)).toMatchObject({
        ...{ status: 403, json: { error: { details: { reason: "another_key_needed" } } } },
      });
    expect(await approve({ client: heidi })).toMatchObject({
      ...{ status: 200, json: { status: "done", decided_by: { key_id: approves.id } } },
    });
  });
});

describe("client certificates beside other credentials", () => {
  it("are refused beside the key of another, and are no credential where they belong to no key", async () => {
    const frank = await authority.issue("frank");
    const proxy = await authority.issue("proxy");
    await makeKey(optional, "frank", frank);
    const { key } = await makeKey(optional, "other");
    expect(await whoami(optional, { client: frank, key })).toMatchObject({
      status: 401,
      json: { error: { message: expect.stringContaining("does not go with the API key") } },
    });
    expect(await whoami(optional, { client: proxy, key })).toMatchObject({ status: 200, json: { name: "other" } });
    expect((await whoami(optional, { client: proxy })).status).toBe(401);
    expect((await whoami(optional, {})).status).toBe(401);
    expect((await ask(optional, "/livez", {})).status).toBe(200);
  });

  it("never come from a header [forged-client-certificates]", async () => {
    const grace = await authority.issue("grace");
    await makeKey(optional, "grace", grace);
    const names = ["X-Forwarded-Client-Cert", "X-SSL-Client-Cert", "Client-Cert", "X-SSL-Client-SHA256"];
    const argv = names.flatMap((name) => ["-H", `${name}: Hash=${sha256Of(grace.cert)}`]);
    expect((await ask(optional, "/api/v1/auth/whoami", { argv })).status).toBe(401);
  });
});

describe("a client certificate that is not to be believed [forged-client-certificates]", () => {
  const bad: Readonly<Record<string, readonly [make: () => Promise<CertificateFiles>, reason: string]>> = {
    "has expired": [() => authority.issue("expired", { fromDays: -2, toDays: -1 }), "CERT_HAS_EXPIRED"],
    "is not valid yet": [() => authority.issue("early", { fromDays: 1, toDays: 2 }), "CERT_NOT_YET_VALID"],
    "is for servers alone": [() => authority.issue("server-only", { usage: "serverAuth" }), "INVALID_PURPOSE"],
    "is signed by somebody else under the same name": [
      async () => (await createAuthority(workspace, "authority-2", "authority")).issue("alice"),
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ],
    "signed itself": [() => makePair(workspace, "self"), "DEPTH_ZERO_SELF_SIGNED_CERT"],
  };
  it.each(Object.entries(bad))(
    "that %s is refused, whatever key comes with it, and the log says why",
    async (...one) => {
      const [name, [make, reason]] = one;
      const client = await make();
      const { key } = await makeKey(optional, name, client);
      for (const given of [{ client }, { client, key }, { client, key: optional.adminKey }]) {
        expect(await whoami(optional, given)).toMatchObject({
          status: 401,
          json: { error: { message: expect.stringContaining("client certificate") } },
        });
      }
      expect((await whoami(optional, { key })).status).toBe(200);
      expect(await refusal(optional, reason)).toMatchObject({ client_cert_sha256: sha256Of(client.cert) });
      expect((await ask(required, "/livez", { client })).status).toBe(0);
      await refusal(required, reason);
    },
  );
});

/** Bytes of an answer on a connection that continues. */
const answerOn = async (socket: Socket): Promise<string> => String((await once(socket, "data"))[0]);

const requestText = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

describe("a reload with a list that revokes a client certificate", () => {
  let service: RunningService;
  let tls: { ca: string; cert: string; key: string };
  let revokeClient: () => Promise<void>;
  beforeEach(async () => {
    const [revoking, other] = [
      await createAuthority(workspace, randomUUID()),
      await createAuthority(workspace, randomUUID()),
    ];
    const [client, untouched] = [await revoking.issue("client"), await other.issue("untouched")];
    const [ca, list] = [workspace.path(`${randomUUID()}.pem`), workspace.path(`${randomUUID()}.crl.pem`)];
    writeFileSync(ca, read(revoking.cert) + read(other.cert));
    const writeLists = async () =>
      writeFileSync(list, read(await other.crl("list.pem")) + read(await revoking.crl("list.pem")));
    await writeLists();
    const settings = `tls: { cert: "${server.cert}", key: "${server.key}", client_ca: "${ca}", client_crl: "${list}" }\n`;
    service = await startService(workspace, { settings });
    await makeKey(service, "client", client);
    await makeKey(service, "untouched", untouched);
    expect((await whoami(service, { client })).status).toBe(200);
    tls = { ca: read(server.cert), cert: read(client.cert), key: read(client.key) };
    revokeClient = async () => {
      await revoking.revoke(client);
      await writeLists();
      service.kill("SIGHUP");
      await until("refusal", async () => (await whoami(service, { client })).status === 401 || undefined);
      await refusal(service, "CERT_REVOKED");
      expect((await whoami(service, { client: untouched })).status).toBe(200);
    };
  });

  const connected = async (): Promise<TLSSocket> => {
    const socket = connectTls({ host: "127.0.0.1", port: service.port, ...tls });
    await once(socket, "secureConnect");
    socket.write(requestText("/livez"));
    expect(await answerOn(socket)).toMatch(/^HTTP\/1.1 200 /);
    return socket;
  };

  it("ends streams, and connections with their next answer, also those whose handshake was not over", async () => {
    const stream = await openStream(service.url, "/api/v1/ws/health", { ca: tls.ca, client: tls });
    const agent = new Agent({ keepAlive: true, ...tls });
    expect(await sendBy(agent, service)).toEqual({ status: 200, connection: "keep-alive" });
    const started = connectTcp(service.port, "127.0.0.1");
    await once(started, "connect");
    // Connections are taken in the order in which they were made.
    const [unasked, upgrading] = [await connected(), await connected()];
    await revokeClient();
    expect(await stream.closed).toEqual({ code: 1001, reason: "certificates are being verified again" });
    expect(await sendBy(agent, service)).toEqual({ status: 200, connection: "close" });
    expect(await sendBy(agent, service)).toMatchObject({ status: 401 });
    agent.destroy();
    unasked.write(requestText("/api/v1/auth/whoami"));
    expect(await answerOn(unasked)).toMatch(/\r\nconnection: close\r\n/i);
    await once(unasked, "end");
    const address = `${service.url.replace("http", "ws")}/api/v1/ws/health`;
    const late = new WebSocket(address, { createConnection: () => upgrading });
    const [code, reason] = await once(late, "close");
    expect([code, String(reason)]).toEqual([1001, "certificates are being verified again"]);
    const secured = connectTls({ socket: started, ...tls, servername: "localhost" });
    await once(secured, "secureConnect");
    secured.write(requestText("/api/v1/auth/whoami"));
    expect(await answerOn(secured)).toMatch(/\r\nconnection: close\r\n/i);
    secured.destroy();
  });

  it("leaves a connection from before one request of those that are sent at once", async () => {
    const socket = await connected();
    await revokeClient();
    const head = requestText("/api/v1/auth/tokens").replace("GET", "POST").trimEnd();
    socket.write(`${head}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`.repeat(5));
    await once(socket, "end");
    const { json } = await ask(service, "/api/v1/audit?operation=createToken", { key: service.adminKey });
    expect(json).toMatchObject({ entries: [{ outcome: "ok", key_name: "client" }] });
  });
});

describe("client_certs: required", () => {
  it("refuses clients without a certificate at the handshake, and stays healthy", async () => {
    const judy = await authority.issue("judy");
    for (const argv of [[], ["--tls-max", "1.2"]]) {
      expect(await ask(required, "/livez", { argv })).toMatchObject({ status: 0 });
      expect((await ask(required, "/livez", { argv, client: judy })).status).toBe(200);
    }
    const { json } = await ask(required, "/api/v1/health", { client: judy, key: required.adminKey });
    expect(json).toMatchObject({ components: { cli: true } });
  });

  it("is satisfied by the certificate of the command line, which needs no key", async () => {
    const mallory = await authority.issue("mallory");
    const certificates = ["--url", required.url, "--cacert", server.cert, "--cert", mallory.cert, "--key", mallory.key];
    const made = await runSteward(
      workspace,
      [...certificates, "keys", "create", "mallory", "--scope", "admin", "--client-cert", mallory.cert],
      { STEWARD_API_KEY: required.adminKey },
    );
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^stw_/) });
    const listed = await runSteward(workspace, ["keys", "list", "--json", ...certificates]);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      keys: expect.arrayContaining([
        expect.objectContaining({ name: "mallory", client_cert_sha256: sha256Of(mallory.cert) }),
      ]),
    });
    const environment = { STEWARD_URL: required.url, STEWARD_CACERT: server.cert, STEWARD_CLIENT_CERT: mallory.cert };
    const without = await runSteward(workspace, ["keys", "list"], environment);
    expect(without).toMatchObject({ code: 2, stderr: expect.stringMatching(/^steward: cannot use .*mallory\.pem/) });
  });
});
