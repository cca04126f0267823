import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, describe, expect, it } from "vitest";
import { type CertificateFiles, createAuthority, makePair, sha256Of } from "./support/certificates.ts";
import { runProgram } from "./support/program.ts";
import { logged, type RunningService, startService, writeSettings } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";
import { openStream } from "./support/ws-client.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const read = (path: string): string => readFileSync(path, "utf8");

/** Puts a pair where the service looks for its own, as a renewal does: one file after the other. */
function install(from: CertificateFiles, to: CertificateFiles): void {
  copyFileSync(from.cert, to.cert);
  copyFileSync(from.key, to.key);
}

const placeOf = (name: string): CertificateFiles => ({
  cert: workspace.path(`${name}-cert.pem`),
  key: workspace.path(`${name}-key.pem`),
});

const settingsOf = ({ cert, key }: CertificateFiles, more = "") => `tls: { cert: "${cert}", key: "${key}"${more} }\n`;

/** SHA-256 of the certificate that a new connection is shown. */
function shown(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const fingerprint = socket.getPeerX509Certificate()?.fingerprint256 ?? "";
      socket.destroy();
      resolve(fingerprint.replaceAll(":", "").toLowerCase());
    });
    socket.once("error", reject);
  });
}

const untilShown = ({ port }: RunningService, sha256: string) =>
  until(`certificate ${sha256}`, async () => ((await shown(port)) === sha256 ? true : undefined));

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A request by a connection of the agent; its body is sent in two pieces, with what `between` does in the middle. */
function send(
  agent: Agent,
  service: RunningService,
  { path, body, between = () => Promise.resolve() }: { path: string; body?: string; between?: () => Promise<unknown> },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, service.url), {
      agent,
      method: body === undefined ? "GET" : "POST",
      headers: {
        "X-API-Key": service.adminKey,
        ...(body !== undefined && { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) }),
      },
    });
    outgoing.once("error", reject);
    outgoing.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
      });
      response.once("error", reject);
      response.once("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    if (body === undefined) outgoing.end();
    else {
      outgoing.write(body.slice(0, 5));
      between().then(() => outgoing.end(body.slice(5)), reject);
    }
  });
}

const log = (service: RunningService, message: string) => service.lines().filter(({ msg }) => msg === message);

describe("SIGHUP with another pair", () => {
  it("loses no request and no stream over 20 changes, and shows each new pair to who connects", async () => {
    const pairs = [await makePair(workspace, "even"), await makePair(workspace, "odd")] as const;
    const place = placeOf("changing");
    install(pairs[0], place);
    const service = await startService(workspace, {
      checks: true,
      settings: settingsOf(place),
      environment: { STEWARD_RATE_LIMITS: "off" },
    });
    const ca = pairs.map(({ cert }) => read(cert));
    const agent = new Agent({ keepAlive: true, maxSockets: 4, ca });
    const stream = await openStream(service.url, "/api/v1/ws/health", {
      ca: ca.join("\n"),
      query: { api_key: service.adminKey },
    });
    await stream.first(1);
    let isOver = false;
    const seen: number[] = [];
    const ask = async (): Promise<void> => {
      while (!isOver) seen.push((await send(agent, service, { path: "/api/v1/auth/whoami" })).status);
    };
    const load = Promise.all([ask(), ask(), ask(), ask()]);
    for (let round = 1; round <= 20; round += 1) {
      const pair = round % 2 === 0 ? pairs[0] : pairs[1];
      const change = async (): Promise<void> => {
        install(pair, place);
        service.kill("SIGHUP");
        await untilShown(service, sha256Of(pair.cert));
      };
      // This one is on its way while the pair changes, on a connection of the pair before.
      const held = new Agent({ keepAlive: false, ca });
      const body = JSON.stringify({ expires_in: 60, scopes: ["system:read"] });
      const token = await send(held, service, { path: "/api/v1/auth/tokens", body, between: change });
      expect(token.status).toBe(200);
    }
    isOver = true;
    await load;
    expect(seen.length).toBeGreaterThan(20);
    expect(new Set(seen)).toEqual(new Set([200]));
    expect(log(service, "TLS certificate replaced")).toHaveLength(20);
    await stream.handled();
    expect(stream.socket.readyState).toBe(stream.socket.OPEN);
    agent.destroy();
    service.kill("SIGTERM");
    expect(await stream.closed).toMatchObject({ code: 1001 });
    expect(await service.exit).toEqual({ code: 0, signal: null });
  });

  it("keeps the pair in use where the new files do not belong together, and takes them up once they do", async () => {
    const [before, after] = [await makePair(workspace, "before"), await makePair(workspace, "after")];
    const place = placeOf("halves");
    install(before, place);
    const service = await startService(workspace, { settings: settingsOf(place) });
    copyFileSync(after.cert, place.cert);
    service.kill("SIGHUP");
    const line = await logged(service, "TLS not reloaded, the former certificate stays");
    expect(JSON.stringify(line)).toContain(`cannot use ${place.cert} with ${place.key}`);
    expect(await shown(service.port)).toBe(sha256Of(before.cert));
    copyFileSync(after.key, place.key);
    service.kill("SIGHUP");
    await untilShown(service, sha256Of(after.cert));
    expect(await logged(service, "TLS certificate replaced")).toMatchObject({
      cert_sha256: sha256Of(after.cert),
      expires_at: expect.any(String),
      names: ["localhost"],
    });
  });

  it("refuses a pair that has expired, where the one in use has not", async () => {
    const authority = await createAuthority(workspace, "authority");
    const good = await makePair(workspace, "good");
    const expired = await authority.issue("expired", { usage: "serverAuth", fromDays: -2, toDays: -1 });
    const place = placeOf("expiring");
    install(good, place);
    const service = await startService(workspace, { settings: settingsOf(place) });
    install(expired, place);
    service.kill("SIGHUP");
    const line = await logged(service, "TLS not reloaded, the former certificate stays");
    expect(JSON.stringify(line)).toContain("it has expired");
    expect(await shown(service.port)).toBe(sha256Of(good.cert));
  });

  it("follows the settings: other files, their names, the check of certificates, the service's check of itself", async () => {
    const [one, two] = [
      await makePair(workspace, "one", "DNS:one.example.org"),
      await makePair(workspace, "two", "DNS:two.example.org"),
    ];
    const config = writeSettings(workspace, "");
    const put = (pair: CertificateFiles, more = "") =>
      writeFileSync(config, `${settingsOf(pair, more)}tracing: { receiver: off }\n`);
    put(one);
    const service = await startService(workspace, { environment: { STEWARD_CONFIG: config } });
    const get = async (path: string, name: string, pair: CertificateFiles) => {
      const { stdout } = await runProgram(workspace, [
        "/usr/bin/curl",
        ...["-sS", "--noproxy", "*", "--cacert", pair.cert, "--connect-to", `${name}:443:127.0.0.1:${service.port}`],
        ...["-H", `X-API-Key: ${service.adminKey}`, `https://${name}${path}`],
      ]);
      return JSON.parse(stdout) as unknown;
    };
    expect(await get("/livez", "one.example.org", one)).toEqual({ status: "ok" });
    put(two);
    service.kill("SIGHUP");
    await untilShown(service, sha256Of(two.cert));
    expect(await get("/livez", "two.example.org", two)).toEqual({ status: "ok" });
    // The certificate is no longer for it.
    const foreign = await runProgram(workspace, [
      "/usr/bin/curl",
      ...["-sSk", "--noproxy", "*", "-H", "Host: one.example.org", `${service.url}/livez`],
    ]);
    expect(foreign.stdout).toContain("not a name of this service");
    expect(await get("/api/v1/health/checks/tls_certificates", "two.example.org", two)).toMatchObject({
      details: { certificates: [{ path: two.cert }] },
    });
    expect(await get("/api/v1/health", "two.example.org", two)).toMatchObject({ components: { cli: true } });
    // What clients are asked for is said when the server is made.
    put(one, `, client_ca: "${one.cert}", client_certs: required`);
    service.kill("SIGHUP");
    await untilShown(service, sha256Of(one.cert));
    expect(await logged(service, "settings changed that take effect with a restart")).toMatchObject({ parts: ["tls"] });
    expect(await get("/livez", "one.example.org", one)).toEqual({ status: "ok" });
  });
});

describe("SIGHUP with tls: auto", () => {
  it("makes another pair where the one of the state folder is gone, and none where it is good", async () => {
    const service = await startService(workspace, { settings: "tls: auto\n" });
    const certFile = join(service.stateDir, "tls-cert.pem");
    const before = sha256Of(certFile);
    service.kill("SIGHUP");
    await logged(service, "settings reloaded");
    expect(await shown(service.port)).toBe(before);
    rmSync(join(service.stateDir, "tls-key.pem"));
    service.kill("SIGHUP");
    await logged(service, "TLS certificate replaced");
    const after = sha256Of(certFile);
    expect(after).not.toBe(before);
    await untilShown(service, after);
  });
});

describe("a service whose certificate is not what a browser would like", () => {
  it.each([
    ["signed by an authority that is not in the file", { fromDays: -1, toDays: 1 }],
    ["expired", { fromDays: -2, toDays: -1 }],
  ])("is well with one that is %s", async (name, dates) => {
    const authority = await createAuthority(workspace, name.replaceAll(" ", "-"));
    const pair = await authority.issue("server", { usage: "serverAuth", altName: "IP:127.0.0.1", ...dates });
    const service = await startService(workspace, { settings: settingsOf(pair) });
    const agent = new Agent({ rejectUnauthorized: false });
    const { body } = await send(agent, service, { path: "/api/v1/health" });
    expect(JSON.parse(body)).toMatchObject({ components: { cli: true } });
    expect(log(service, "TLS certificate has expired")).toHaveLength(name === "expired" ? 1 : 0);
  });
});
