import { once } from "node:events";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { Agent, get } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

/** All files of the audit log. */
function auditOf({ stateDir }: RunningService): string {
  const folder = join(stateDir, "audit");
  return readdirSync(folder)
    .map((name) => read(join(folder, name)))
    .join("");
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

describe("a client certificate of a key", () => {
  it("stands for the key, whose list shows it, and ends with it", async () => {
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

  it("has the limits of its key, and is in the audit log as it", async () => {
    const bob = await authority.issue("bob");
    const { settings } = settingsOf();
    const limited = `${settings}rate_limits: { per_minute: 3, per_hour: 100 }\n`;
    const service = await startService(workspace, { settings: limited });
    const { id, key } = await makeKey(service, "bob", bob);
    const argv = ["-X", "POST"];
    expect(await ask(service, "/api/v1/system/services/none/restart", { client: bob, argv })).toMatchObject({
      status: 403,
    });
    await until("an audit entry", () => (auditOf(service).includes(`"key_id":"${id}"`) ? true : undefined));
    expect((await whoami(service, { client: bob })).status).toBe(200);
    expect((await whoami(service, { key })).status).toBe(200);
    expect((await whoami(service, { client: bob })).status).toBe(429);
  });

  it("opens streams, which end with the key", async () => {
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

  it("belongs to one key at a time", async () => {
    const dave = await authority.issue("dave");
    const { id } = await makeKey(optional, "dave", dave);
    const body = { name: "again", scopes: [], client_cert_sha256: sha256Of(dave.cert) };
    const argv = ["-H", "Content-Type: application/json", "-d", JSON.stringify(body)];
    const again = () => ask(optional, "/api/v1/auth/keys", { key: optional.adminKey, argv });
    expect(await again()).toMatchObject({ status: 400, json: { error: { details: { field: "client_cert_sha256" } } } });
    await revoke(optional, id);
    expect((await again()).status).toBe(201);
    expect(await whoami(optional, { client: dave })).toMatchObject({ json: { name: "again" } });
  });

  it("is kept over a restart", async () => {
    const erin = await authority.issue("erin");
    const first = await startService(workspace, settingsOf());
    await makeKey(first, "erin", erin);
    first.kill("SIGTERM");
    await first.exit;
    const second = await startService(workspace, { ...settingsOf(), stateDir: first.stateDir });
    expect(await whoami(second, { client: erin })).toMatchObject({ json: { name: "erin" } });
  });
});

describe("calls of a client certificate that others have to approve", () => {
  it("wait for another key, which may be shown by its certificate too", async () => {
    const [grace, heidi] = [await authority.issue("grace"), await authority.issue("heidi")];
    const proposes = await makeKey(optional, "grace", grace, ["propose:health:fix"]);
    const approves = await makeKey(optional, "heidi", heidi, ["health:fix"]);
    const post = (path: string, body: object, given: { client?: CertificateFiles; key?: string }) =>
      ask(optional, `/api/v1${path}`, {
        ...given,
        argv: ["-H", "Content-Type: application/json", "-d", JSON.stringify(body)],
      });
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const silence = { alert: "ServiceDown", until, comment: "certified" };
    const parked = await post("/alerts/silences", silence, { client: grace });
    const { id } = parked.json as { id: string };
    expect(parked).toMatchObject({ status: 202, json: { status: "pending", proposer: { key_id: proposes.id } } });
    const approve = (given: { client?: CertificateFiles; key?: string }) => post(`/approvals/${id}/approve`, {}, given);
    const made = await post("/auth/tokens", {}, { client: grace });
    const { access_token: token } = made.json as { access_token: string };
    for (const given of [
      { client: grace },
      { key: proposes.key },
      { client: grace, key: proposes.key },
      { key: token },
    ])
      expect(await approve(given)).toMatchObject({
        status: 403,
        json: { error: { details: { reason: "another_key_needed" } } },
      });
    expect(await approve({ client: heidi })).toMatchObject({
      status: 200,
      json: { status: "done", decided_by: { key_id: approves.id } },
    });
    const list = await ask(optional, "/api/v1/audit?operation=silenceAlert&limit=1", { key: optional.adminKey });
    expect(list.json).toMatchObject({
      entries: [{ key_id: proposes.id, outcome: "ok", target: { approved_by: expect.stringContaining(approves.id) } }],
    });
  });

  it("are not carried out once its key was revoked", async () => {
    const ivan = await authority.issue("ivan");
    const { id: keyId } = await makeKey(optional, "ivan", ivan, ["propose:health:fix"]);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const argv = ["-H", "Content-Type: application/json", "-d", JSON.stringify({ alert: "ServiceDown", until })];
    const { json } = await ask(optional, "/api/v1/alerts/silences", { client: ivan, argv });
    await revoke(optional, keyId);
    const { id } = json as { id: string };
    const approved = await ask(optional, `/api/v1/approvals/${id}/approve`, {
      key: optional.adminKey,
      argv: ["-X", "POST"],
    });
    expect(approved).toMatchObject({ status: 409, json: { error: { details: { reason: "proposer_gone" } } } });
  });
});

describe("client certificates beside other credentials", () => {
  it("are refused with the key of another, and say nothing where they are no key's", async () => {
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

  it("never come from a header", async () => {
    const grace = await authority.issue("grace");
    await makeKey(optional, "grace", grace);
    const names = ["X-Forwarded-Client-Cert", "X-SSL-Client-Cert", "Client-Cert", "X-SSL-Client-SHA256"];
    const argv = names.flatMap((name) => ["-H", `${name}: Hash=${sha256Of(grace.cert)}`]);
    expect((await ask(optional, "/api/v1/auth/whoami", { argv })).status).toBe(401);
  });
});

describe("a client certificate that is not to be believed", () => {
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
  const refusal = (service: RunningService, reason: string) =>
    until(`refusal for ${reason}`, () =>
      service.lines().find((line) => line["msg"] === "client certificate refused" && line["reason"] === reason),
    );

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

  it("because it was taken back is refused from the reload on that brings the list", async () => {
    const list = workspace.path("list.crl.pem");
    copyFileSync(await authority.crl("first.crl.pem"), list);
    const [heidi, ivan] = [await authority.issue("heidi"), await authority.issue("ivan")];
    const service = await startService(workspace, settingsOf(`, client_crl: "${list}"`));
    await makeKey(service, "heidi", heidi);
    await makeKey(service, "ivan", ivan);
    expect((await whoami(service, { client: heidi })).status).toBe(200);
    const files = { cert: read(heidi.cert), key: read(heidi.key) };
    const stream = await openStream(service.url, "/api/v1/ws/health", { ca: read(server.cert), client: files });
    const agent = new Agent({ keepAlive: true, ca: read(server.cert), ...files });
    expect(await sendBy(agent, service)).toEqual({ status: 200, connection: "keep-alive" });
    await authority.revoke(heidi);
    copyFileSync(await authority.crl("second.crl.pem"), list);
    service.kill("SIGHUP");
    // What was open is told to connect again, and is refused then.
    expect(await stream.closed).toEqual({ code: 1001, reason: "certificates are verified anew" });
    expect(await sendBy(agent, service)).toEqual({ status: 200, connection: "close" });
    expect(await sendBy(agent, service)).toMatchObject({ status: 401 });
    agent.destroy();
    await until("refusal", async () => ((await whoami(service, { client: heidi })).status === 401 ? true : undefined));
    await refusal(service, "CERT_REVOKED");
    expect((await whoami(service, { client: ivan })).status).toBe(200);
  });
});

/** Bytes of an answer on a connection that goes on. */
const answerOn = async (socket: Socket): Promise<string> => String((await once(socket, "data"))[0]);

const requestText = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

describe("a connection from before the reload that takes a certificate back", () => {
  const prepare = async (name: string) => {
    const revoking = await createAuthority(workspace, `authority-of-${name}`);
    const client = await revoking.issue(name);
    const list = workspace.path(`${name}.crl.pem`);
    copyFileSync(await revoking.crl("first.crl.pem"), list);
    const service = await startService(workspace, {
      settings: `tls: { cert: "${server.cert}", key: "${server.key}", client_ca: "${revoking.cert}", client_crl: "${list}" }\n`,
    });
    await makeKey(service, name, client);
    const tls = { ca: read(server.cert), cert: read(client.cert), key: read(client.key) };
    return {
      service,
      tls,
      connected: async (): Promise<TLSSocket> => {
        const socket = connectTls({ host: "127.0.0.1", port: service.port, ...tls });
        await once(socket, "secureConnect");
        socket.write(requestText("/livez"));
        expect(await answerOn(socket)).toMatch(/^HTTP\/1.1 200 /);
        return socket;
      },
      takeBack: async (): Promise<void> => {
        await revoking.revoke(client);
        copyFileSync(await revoking.crl("second.crl.pem"), list);
        service.kill("SIGHUP");
        await until("refusal", async () => ((await whoami(service, { client })).status === 401 ? true : undefined));
      },
    };
  };

  it("ends with its next answer, though nobody had asked who it is before", async () => {
    const { connected, takeBack } = await prepare("kate");
    const socket = await connected();
    await takeBack();
    socket.write(requestText("/api/v1/auth/whoami"));
    expect(await answerOn(socket)).toMatch(/\r\nconnection: close\r\n/i);
    await once(socket, "end");
  });

  it("does no more than the first of what is sent at once", async () => {
    const { service, connected, takeBack } = await prepare("nora");
    const socket = await connected();
    await takeBack();
    const head = requestText("/api/v1/auth/tokens")
      .replace("GET", "POST")
      .replace(/\r\n\r\n$/, "\r\n");
    const text = `${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
    socket.write(text.repeat(5));
    await once(socket, "end");
    const { json } = await ask(service, "/api/v1/audit?operation=createToken", { key: service.adminKey });
    expect(json).toMatchObject({ entries: [{ outcome: "ok", key_name: "nora" }] });
  });

  it("opens no stream", async () => {
    const { service, connected, takeBack } = await prepare("liam");
    const socket = await connected();
    await takeBack();
    const stream = new WebSocket(`${service.url.replace("http", "ws")}/api/v1/ws/health`, {
      createConnection: () => socket,
    });
    const [code, reason] = await once(stream, "close");
    expect([code, String(reason)]).toEqual([1001, "certificates are verified anew"]);
  });

  it("counts as such when its handshake ends after the reload", async () => {
    const { service, tls, connected, takeBack } = await prepare("mia");
    const begun = connectTcp(service.port, "127.0.0.1");
    await once(begun, "connect");
    // Connections are taken in the order in which they were made.
    (await connected()).destroy();
    await takeBack();
    const socket = connectTls({ socket: begun, ...tls, servername: "localhost" });
    await once(socket, "secureConnect");
    socket.write(requestText("/api/v1/auth/whoami"));
    expect(await answerOn(socket)).toMatch(/\r\nconnection: close\r\n/i);
    socket.destroy();
  });
});

describe("client_certs: required", () => {
  it("refuses who has none at the handshake, and is well all the same", async () => {
    const judy = await authority.issue("judy");
    for (const argv of [[], ["--tls-max", "1.2"]]) {
      expect(await ask(required, "/livez", { argv })).toMatchObject({ status: 0 });
      expect((await ask(required, "/livez", { argv, client: judy })).status).toBe(200);
    }
    const { json } = await ask(required, "/api/v1/health", { client: judy, key: required.adminKey });
    expect(json).toMatchObject({ components: { cli: true } });
  });

  it("is satisfied by the command line, which needs no key then", async () => {
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
