import { once } from "node:events";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import type { SecureVersion, TLSSocket } from "node:tls";
import { connect, createServer } from "node:tls";
import { afterAll, describe, expect, it } from "vitest";
import { makePair } from "./support/certificates.ts";
import { runProgram } from "./support/program.ts";
import { launchService, startService } from "./support/service.ts";
import { until } from "./support/until.ts";
import { createWorkspace } from "./support/workspace.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const auto = { settings: "tls: auto\n" };

const curl = (...argv: readonly string[]) => runProgram(workspace, ["/usr/bin/curl", "-sS", "--noproxy", "*", ...argv]);

/** The protocol that a client and the service agree on when the client knows one alone; the error when they do not. */
function agree(port: number, version: SecureVersion): Promise<string> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({
      host: "127.0.0.1",
      port,
      minVersion: version,
      maxVersion: version,
      // Without this the client itself would not offer the old protocols.
      ciphers: "ALL:@SECLEVEL=0",
      rejectUnauthorized: false,
    });
    const done = (outcome: string): void => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once("secureConnect", () => done(socket.getProtocol() ?? "none"));
    socket.once("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
  });
}

const pairSettings = ({ cert, key }: { cert: string; key: string }) => ({
  settings: `tls: { cert: "${cert}", key: "${key}" }\n`,
});

describe("a TLS service", () => {
  it("ends in time though a client has connected and never said a word", async () => {
    const service = await startService(workspace, auto);
    const silent = connectPlain({ host: "127.0.0.1", port: service.port });
    await once(silent, "connect");
    silent.on("error", () => undefined);
    const startedAt = performance.now();
    // A handshake may take two minutes unless it is cut off.
    service.kill("SIGTERM");
    expect(await service.exit).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(60_000);
    silent.destroy();
  });

  it("is reached under the name of its certificate, by the line that it prints", async () => {
    const pair = await makePair(workspace, "named", "DNS:steward.example.org");
    const service = await startService(workspace, pairSettings(pair));
    const line =
      service
        .stderr()
        .split("\n")
        .find((each) => each.trimStart().startsWith("curl")) ?? "";
    const { code, stdout } = await runProgram(workspace, [
      "/bin/sh",
      "-c",
      line.replace("curl", "curl -sS --noproxy '*'"),
    ]);
    expect({ code, body: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 0,
      body: { components: { cli: true } },
    });
  });
});

describe("tls: auto", () => {
  it("serves a certificate that curl accepts when it is given it, and not otherwise", async () => {
    const service = await startService(workspace, auto);
    const cert = join(service.stateDir, "tls-cert.pem");
    const header = `X-API-Key: ${service.adminKey}`;
    const health = `${service.url}/api/v1/health`;
    expect(service.url).toMatch(/^https:/);
    const trusted = await curl("--cacert", cert, "-H", header, health);
    expect({ code: trusted.code, body: JSON.parse(trusted.stdout) as unknown }).toMatchObject({
      code: 0,
      body: { components: { security: true, cli: true } },
    });
    expect((await curl("--cacert", cert, health.replace("127.0.0.1", "localhost"))).code).toBe(0);
    // curl(1): 60 is a certificate that cannot be authenticated.
    expect((await curl(health)).code).toBe(60);
  });

  it("keeps its pair over a restart, and makes another when it is gone", async () => {
    const first = await startService(workspace, auto);
    const { stateDir } = first;
    const read = () => ["tls-cert.pem", "tls-key.pem"].map((name) => readFileSync(join(stateDir, name), "utf8"));
    const pair = read();
    first.kill("SIGTERM");
    await first.exit;
    const second = await startService(workspace, { ...auto, stateDir });
    expect(read()).toEqual(pair);
    second.kill("SIGTERM");
    await second.exit;
    rmSync(join(stateDir, "tls-key.pem"));
    const third = await startService(workspace, { ...auto, stateDir });
    expect(read()).not.toEqual(pair);
    const cert = join(stateDir, "tls-cert.pem");
    expect((await curl("--cacert", cert, `${third.url}/livez`)).code).toBe(0);
  });

  it("speaks TLS 1.3 and 1.2, and nothing older", async () => {
    const { port } = await startService(workspace, auto);
    expect(await agree(port, "TLSv1.3")).toBe("TLSv1.3");
    expect(await agree(port, "TLSv1.2")).toBe("TLSv1.2");
    expect(await agree(port, "TLSv1.1")).toMatch(/PROTOCOL_VERSION/);
    expect(await agree(port, "TLSv1")).toMatch(/PROTOCOL_VERSION/);
  });

  it("says no to what is old or needless, as openssl sees it", async () => {
    const { port } = await startService(workspace, auto);
    const client = async (input: string, ...argv: readonly string[]): Promise<string> => {
      const { stdout, stderr } = await runProgram(
        workspace,
        ["/usr/bin/openssl", "s_client", "-connect", `127.0.0.1:${port}`, ...argv],
        { input },
      );
      return stdout + stderr;
    };
    const anyCipher = ["-cipher", "ALL:@SECLEVEL=0"];
    // The alert comes from the service: the client did offer it.
    expect(await client("", "-tls1_1", ...anyCipher)).toMatch(/alert protocol version/);
    expect(await client("", "-tls1_2", ...anyCipher)).toMatch(/New, TLSv1\.2, Cipher is ECDHE-ECDSA-(AES|CHACHA)/);
    expect(await client("", "-tls1_3")).toMatch(/New, TLSv1\.3, Cipher is TLS_/);
    // Neither without forward secrecy nor with CBC.
    for (const cipher of ["AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384"]) {
      expect(await client("", "-tls1_2", "-cipher", `${cipher}:@SECLEVEL=0`)).toMatch(/alert handshake failure/);
    }
    expect(await client("", "-alpn", "http/1.1")).toMatch(/ALPN protocol: http\/1\.1/);
    expect(await client("", "-alpn", "h2")).toMatch(/alert no application protocol/);
    // Over four further connections no session is taken up again.
    for (const version of ["-tls1_2", "-tls1_3"]) {
      const again = await client("", version, "-reconnect");
      expect(again).not.toMatch(/^Reused/m);
    }
    expect(await client("R\n", "-tls1_2")).toMatch(/no renegotiation/);
    const curl11 = await curl(
      "-k",
      "--tlsv1.0",
      "--tls-max",
      "1.1",
      "--ciphers",
      "ALL:@SECLEVEL=0",
      `https://127.0.0.1:${port}/livez`,
    );
    // curl(1): 35 is a handshake that failed.
    expect(curl11.code).toBe(35);
  });

  it("is tested by a client that could speak the old protocols", async () => {
    const { cert, key } = await makePair(workspace, "old");
    const options = {
      cert: readFileSync(cert),
      key: readFileSync(key),
      minVersion: "TLSv1",
      ciphers: "ALL:@SECLEVEL=0",
    } as const;
    const server = createServer(options).listen(0, "127.0.0.1");
    const address = await until("an address", () => server.address() ?? undefined);
    if (typeof address === "string") throw new Error("not a TCP address");
    expect(await agree(address.port, "TLSv1.1")).toBe("TLSv1.1");
    server.close();
  });
});

describe("tls: { cert, key }", () => {
  it("serves the pair that it is given", async () => {
    const pair = await makePair(workspace, "given");
    const { url } = await startService(workspace, pairSettings(pair));
    const { code, stdout } = await curl("--cacert", pair.cert, `${url}/livez`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"status":"ok"}' });
  });

  it.each([
    ["a missing file", ({ key }: { key: string }) => ({ cert: workspace.path("none.pem"), key })],
    [
      "a key that everybody can read",
      (pair: { cert: string; key: string }) => {
        chmodSync(pair.key, 0o644);
        return pair;
      },
    ],
    ["a certificate in the place of the key", ({ cert }: { cert: string }) => ({ cert, key: cert })],
  ])("refuses %s with a message, and listens nowhere", async (name, spoil) => {
    const pair = spoil(await makePair(workspace, name.replaceAll(" ", "-")));
    const service = launchService(workspace, pairSettings(pair));
    await expect(service.exit).resolves.toEqual({ code: 2, signal: null });
    expect(service.stderr()).toMatch(/^steward: cannot /);
    expect(service.stdout()).not.toContain("listening");
  });

  it("refuses a key that belongs to another certificate", async () => {
    const [one, other] = [await makePair(workspace, "one"), await makePair(workspace, "other")];
    const service = launchService(workspace, pairSettings({ cert: one.cert, key: other.key }));
    await expect(service.exit).resolves.toEqual({ code: 2, signal: null });
    expect(service.stderr()).toMatch(/^steward: cannot /);
  });
});
