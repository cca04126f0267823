import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, createServer as createHttpsServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { SecureVersion } from "node:tls";
import { connect, createServer } from "node:tls";
import { fastify } from "fastify";
import { afterAll, describe, expect, it } from "vitest";
import { listen } from "#transports/http/listen.ts";
import { contextOptions, replaceContext } from "#transports/http/tls.ts";
import { canMakeJournals } from "../journals/programs.ts";
import { type CertificateFiles, createAuthority, makePair, sha256Of } from "./support/certificates.ts";
import { runProgram } from "./support/program.ts";
import { launchService, logged, type RunningService, startService, writeSettings } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { openStream } from "./support/ws-client.ts";
import { writeLog } from "./support/ws-journal.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const read = (path: string): string => readFileSync(path, "utf8");
const curl = (...argv: readonly string[]) => runProgram(workspace, ["/usr/bin/curl", "-sS", "--noproxy", "*", ...argv]);

/** The protocol that a client and the service agree on when the client knows one alone; the error when they do not. */
function agree(port: number, version: SecureVersion): Promise<string> {
  return new Promise((resolve) => {
    // Without these ciphers the client itself would not offer the old protocols.
    const old = { minVersion: version, maxVersion: version, ciphers: "ALL:@SECLEVEL=0" };
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...old });
    const done = (outcome: string): void => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once("secureConnect", () => done(socket.getProtocol() ?? "none"));
    socket.once("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
  });
}

/** SHA-256 of the certificate that a new connection is shown. */
function shown(port: number, host = "127.0.0.1"): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
      const fingerprint = socket.getPeerX509Certificate()?.fingerprint256 ?? "";
      socket.destroy();
      resolve(fingerprint.replaceAll(":", "").toLowerCase());
    });
    socket.once("error", reject);
  });
}
const untilShown = ({ port }: RunningService, sha256: string) =>
  until(`certificate ${sha256}`, async () => (await shown(port)) === sha256 || undefined);

/** Installs a pair as a renewal does: one file after the other. */
function install(from: CertificateFiles, to: CertificateFiles): void {
  copyFileSync(from.cert, to.cert);
  copyFileSync(from.key, to.key);
}
const settingsOf = ({ cert, key }: CertificateFiles, more = "") => `tls: { cert: "${cert}", key: "${key}"${more} }\n`;

/** The status of a request by a connection of the agent; its body is sent in two pieces, with what `between` does in the middle. */
function send(agent: Agent, service: RunningService, path: string, body = "", between?: () => Promise<unknown>) {
  return new Promise<number>((resolve, reject) => {
    const json = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const headers = { "X-API-Key": service.adminKey, ...(body !== "" && json) };
    const outgoing = request(new URL(path, service.url), { agent, method: body === "" ? "GET" : "POST", headers });
    outgoing.once("error", reject);
    outgoing.once("response", (response) => {
      response.resume().once("error", reject);
      response.once("end", () => resolve(response.statusCode ?? 0));
    });
    outgoing.write(body.slice(0, 5));
    Promise.resolve(between?.()).then(() => outgoing.end(body.slice(5)), reject);
  });
}

describe("tls: auto", () => {
  it("serves a pair of its own to who trusts it, keeps it over a restart, and makes another where it is gone", async () => {
    const first = await startService(workspace, { settings: "tls: auto\n" });
    const { stateDir } = first;
    const cert = join(stateDir, "tls-cert.pem");
    const health = `${first.url}/api/v1/health`;
    const trusted = await curl("--cacert", cert, "-H", `X-API-Key: ${first.adminKey}`, health);
    expect({ code: trusted.code, body: JSON.parse(trusted.stdout) as unknown }).toMatchObject({
      code: 0,
      body: { components: { security: true, cli: true } },
    });
    expect((await curl("--cacert", cert, health.replace("127.0.0.1", "localhost"))).code).toBe(0);
    const plain = await curl("-w", " %{http_code}", health.replace("https://", "http://"));
    expect({ code: plain.code, answer: plain.stdout }).toEqual({
      code: 0,
      answer: expect.stringMatching(/"code":"VALIDATION_ERROR".* takes HTTPS alone \(https:.* 400$/),
    });
    // curl(1): 60 is a certificate that cannot be authenticated.
    expect((await curl(health)).code).toBe(60);
    const pair = sha256Of(cert);
    first.kill("SIGTERM");
    await first.exit;

    const second = await startService(workspace, { settings: "tls: auto\n", stateDir });
    second.kill("SIGHUP");
    await logged(second, "settings reloaded");
    expect(await shown(second.port)).toBe(pair);
    rmSync(join(stateDir, "tls-key.pem"));
    second.kill("SIGHUP");
    await logged(second, "TLS certificate replaced");
    expect(sha256Of(cert)).not.toBe(pair);
    await untilShown(second, sha256Of(cert));
  });

  it("speaks TLS 1.3 and 1.2, and nothing older", async () => {
    const { port } = await startService(workspace, { settings: "tls: auto\n" });
    expect(await agree(port, "TLSv1.3")).toBe("TLSv1.3");
    expect(await agree(port, "TLSv1.2")).toBe("TLSv1.2");
    expect(await agree(port, "TLSv1.1")).toMatch(/PROTOCOL_VERSION/);
    expect(await agree(port, "TLSv1")).toMatch(/PROTOCOL_VERSION/);
    // The client could.
    const { cert, key } = await makePair(workspace, "old");
    const options = { cert: read(cert), key: read(key), minVersion: "TLSv1", ciphers: "ALL:@SECLEVEL=0" } as const;
    const server = createServer(options).listen(0, "127.0.0.1");
    await until("an address", () => server.address() ?? undefined);
    expect(await agree((server.address() as AddressInfo).port, "TLSv1.1")).toBe("TLSv1.1");
    server.close();

    const client = async (input: string, ...argv: readonly string[]): Promise<string> => {
      const command = ["/usr/bin/openssl", "s_client", "-connect", `127.0.0.1:${port}`, ...argv] as const;
      const { stdout, stderr } = await runProgram(workspace, command, { input });
      return stdout + stderr;
    };
    expect(await client("", "-tls1_2", "-cipher", "ALL:@SECLEVEL=0")).toMatch(
      /New, TLSv1\.2, Cipher is ECDHE-ECDSA-(AES|CHACHA)/,
    );
    // Neither without forward secrecy nor with CBC.
    for (const cipher of ["AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384"])
      expect(await client("", "-tls1_2", "-cipher", `${cipher}:@SECLEVEL=0`)).toMatch(/alert handshake failure/);
    expect(await client("", "-alpn", "http/1.1")).toMatch(/ALPN protocol: http\/1\.1/);
    expect(await client("", "-alpn", "h2")).toMatch(/alert no application protocol/);
    // Over four further connections no session is resumed.
    for (const version of ["-tls1_2", "-tls1_3"])
      expect(await client("", version, "-reconnect")).not.toMatch(/^Reused/m);
    expect(await client("R\n", "-tls1_2")).toMatch(/no renegotiation/);
  });
});

describe("tls: { cert, key }", () => {
  it("loses no request and no stream over changes of the pair, and shows each to who connects then", async () => {
    const [even, odd] = [await makePair(workspace, "even"), await makePair(workspace, "odd")];
    const place = { cert: workspace.path("changing.pem"), key: workspace.path("changing-key.pem") };
    install(even, place);
    const journalDir = workspace.path("journal");
    mkdirSync(journalDir);
    const service = await startService(workspace, {
      settings: settingsOf(place),
      environment: { STEWARD_RATE_LIMITS: "off", STEWARD_JOURNAL_DIR: journalDir },
    });
    const ca = [read(even.cert), read(odd.cert)].join("\n");
    const agent = new Agent({ keepAlive: true, maxSockets: 2, ca });
    const open = () => openStream(service.url, "/api/v1/ws/logs", { ca, query: { api_key: service.adminKey } });
    const streams = await Promise.all(Array.from({ length: 5 }, open));
    let isOver = false;
    const statuses: number[] = [];
    const ask = async (): Promise<void> => {
      while (!isOver) statuses.push(await send(agent, service, "/api/v1/auth/whoami"));
    };
    const load = Promise.all([ask(), ask()]);
    for (const pair of [odd, even, odd, even]) {
      // A request is on its way while the pair changes, on a connection of the pair before.
      const held = new Agent({ keepAlive: false, ca });
      const body = JSON.stringify({ expires_in: 60, scopes: ["system:read"] });
      const change = async (): Promise<void> => {
        install(pair, place);
        service.kill("SIGHUP");
        await untilShown(service, sha256Of(pair.cert));
      };
      expect(await send(held, service, "/api/v1/auth/tokens", body, change)).toBe(200);
    }
    isOver = true;
    await load;
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(service.lines().filter(({ msg }) => msg === "TLS certificate replaced")).toHaveLength(4);
    // Messages that take many records arrive whole.
    const messages = ["short", "x".repeat(700_000), "é".repeat(20_000), "end"];
    if (canMakeJournals()) {
      const entries = messages.map((message) => ({ message, unit: "app.service", priority: 6 }));
      writeLog(join(journalDir, "system.journal"), entries);
      // The directory was empty when the streams began, which each got as a message.
      for (const stream of streams) {
        const frames = (await stream.last("end")).filter(({ type }) => type !== "error");
        expect(frames.map(({ message }) => message)).toEqual(messages);
      }
    }
    agent.destroy();
    service.kill("SIGTERM");
    for (const { closed } of streams) expect(await closed).toMatchObject({ code: 1001 });
    expect(await service.exit).toEqual({ code: 0, signal: null });
  });

  it("follows the settings at a reload: other files, their names, the line to paste, the check of certificates", async () => {
    const one = await makePair(workspace, "one", "DNS:one.example.org");
    const two = await makePair(workspace, "two", "DNS:two.example.org");
    const config = writeSettings(workspace, "");
    const put = (pair: CertificateFiles, more = "") =>
      writeFileSync(config, `${settingsOf(pair, more)}tracing: { receiver: off }\n`);
    put(one);
    const service = await startService(workspace, { environment: { STEWARD_CONFIG: config } });
    const line = /^ *curl .*$/m.exec(service.stderr())?.[0] ?? "";
    const pasted = await runProgram(workspace, ["/bin/sh", "-c", line.replace("curl", "curl -sS --noproxy '*'")]);
    expect(JSON.parse(pasted.stdout)).toMatchObject({ components: { cli: true } });
    const get = async (path: string, name: string, { cert }: CertificateFiles) => {
      const to = ["--cacert", cert, "--connect-to", `${name}:443:127.0.0.1:${service.port}`];
      return JSON.parse(
        (await curl(...to, "-H", `X-API-Key: ${service.adminKey}`, `https://${name}${path}`)).stdout,
      ) as unknown;
    };
    put(two);
    service.kill("SIGHUP");
    await untilShown(service, sha256Of(two.cert));
    expect(await get("/api/v1/health", "two.example.org", two)).toMatchObject({ components: { cli: true } });
    const foreign = await curl("-k", "-H", "Host: one.example.org", `${service.url}/livez`);
    expect(foreign.stdout).toContain("not a name of this service");
    expect(await get("/api/v1/health/checks/tls_certificates", "two.example.org", two)).toMatchObject({
      details: { certificates: [{ path: two.cert }] },
    });
    // What clients are asked for is said when the server is made.
    put(one, `, client_ca: "${one.cert}", client_certs: required`);
    service.kill("SIGHUP");
    await untilShown(service, sha256Of(one.cert));
    expect(await logged(service, "settings changed that take effect with a restart")).toMatchObject({ parts: ["tls"] });
    expect(await get("/livez", "one.example.org", one)).toEqual({ status: "ok" });
  });

  it("is healthy with a certificate that has expired and is signed by somebody unknown, and reports it", async () => {
    const authority = await createAuthority(workspace, "unknown");
    const dates = { fromDays: -2, toDays: -1 };
    const pair = await authority.issue("server", { usage: "serverAuth", altName: "IP:127.0.0.1", ...dates });
    const service = await startService(workspace, { settings: settingsOf(pair) });
    const { stdout } = await curl("-k", "-H", `X-API-Key: ${service.adminKey}`, `${service.url}/api/v1/health`);
    expect(JSON.parse(stdout)).toMatchObject({ components: { cli: true } });
    await logged(service, "TLS certificate has expired");
  });

  it("refuses to start with a key that everybody can read", async () => {
    const pair = await makePair(workspace, "open");
    chmodSync(pair.key, 0o644);
    const service = launchService(workspace, { settings: settingsOf(pair) });
    await expect(service.exit).resolves.toEqual({ code: 2, signal: null });
    expect(service.stderr()).toMatch(/^steward: cannot /);
    expect(service.stdout()).not.toContain("listening");
  });
});

describe("the addresses of localhost", () => {
  const hasBoth = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === "::1"));
  if (!hasBoth) process.stdout.write("skipped: both addresses of localhost: this machine has no ::1\n");

  it.runIf(hasBoth)("are one server, which shows one certificate", async () => {
    const [before, after] = [await makePair(workspace, "before"), await makePair(workspace, "after")];
    const pair = ({ cert, key }: CertificateFiles) => ({ cert: read(cert), key: read(key) });
    const app = fastify({ serverFactory: (handler) => createHttpsServer(contextOptions(pair(before)), handler) });
    await listen(app, { host: "localhost", port: 0 }, () => Promise.resolve(["127.0.0.1", "::1"]));
    const { port } = app.server.address() as AddressInfo;
    for (const host of ["127.0.0.1", "::1"]) expect(await shown(port, host)).toBe(sha256Of(before.cert));
    replaceContext([app.server], pair(after));
    for (const host of ["127.0.0.1", "::1"]) expect(await shown(port, host)).toBe(sha256Of(after.cert));
    await app.close();
    await expect(shown(port, "::1")).rejects.toThrow(/ECONNREFUSED/);
  });

  it("are served where one of them cannot be had", async () => {
    const app = fastify();
    app.get("/", () => "hello");
    await listen(app, { host: "localhost", port: 0 }, () => Promise.resolve(["127.0.0.1", "192.0.2.1"]));
    const { port } = app.server.address() as AddressInfo;
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("hello");
    await app.close();
  });
});
