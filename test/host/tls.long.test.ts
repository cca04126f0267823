import { readFileSync } from "node:fs";
import { connect } from "node:tls";
import { afterAll, expect, it } from "vitest";
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "#adapters/tls/x509.ts";
import { type CertificateFiles, makePair, sha256Of } from "../process/support/certificates.ts";
import { createWorkspace } from "../process/support/workspace.ts";
import { eventually } from "./support/eventually.ts";
import { describeOnHost } from "./support/session.ts";

const workspace = createWorkspace();
afterAll(workspace.dispose);

const lineage = "/etc/letsencrypt/live/host.example.org";
const unit = "steward.service";

/** The indented block of the documentation that begins with this line. */
function documented(firstLine: string): string {
  const text = readFileSync(new URL("../../docs/tls.md", import.meta.url), "utf8");
  const lines = text.slice(text.indexOf(`    ${firstLine}`)).split("\n");
  const end = lines.findIndex((line) => line !== "" && !line.startsWith("    "));
  return `${lines
    .slice(0, end)
    .map((line) => line.slice(4))
    .join("\n")
    .trim()}\n`;
}

/** SHA-256 of the certificate that a new connection is shown. */
function shown(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(url);
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      const fingerprint = socket.getPeerX509Certificate()?.fingerprint256 ?? "";
      socket.destroy();
      resolve(fingerprint.replaceAll(":", "").toLowerCase());
    });
    socket.once("error", reject);
  });
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const makeKeys = () => crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);

interface Party {
  readonly name: string;
  readonly keys: CryptoKeyPair;
}
const makeParty = async (name: string): Promise<Party> => ({ name, keys: await makeKeys() });

/** A certificate of one party by another: valid for the next 90 days, or until yesterday. */
async function certify(subject: Party, issuer: Party, { expired = false, leaf = false } = {}): Promise<string> {
  const day = 86_400_000;
  const certificate = await X509CertificateGenerator.create({
    subject: `CN=${subject.name}`,
    issuer: `CN=${issuer.name}`,
    publicKey: subject.keys.publicKey,
    signingKey: issuer.keys.privateKey,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 900 * day),
    notAfter: new Date(Date.now() + (expired ? -1 : 90) * day),
    extensions: [
      new BasicConstraintsExtension(!leaf, undefined, true),
      ...(leaf ? [new SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }])] : []),
    ],
  });
  return `${certificate.toString("pem")}\n`;
}

describeOnHost("TLS of the service without rights", (session) => {
  /** Renews the pair as an ACME client does: for root alone. */
  const renew = async ({ cert, key }: CertificateFiles): Promise<void> => {
    await session.shell(`mkdir -p -m 0700 /etc/letsencrypt ${lineage}`);
    await session.host.writeFile(`${lineage}/fullchain.pem`, readFileSync(cert, "utf8"), 0o600);
    await session.host.writeFile(`${lineage}/privkey.pem`, readFileSync(key, "utf8"), 0o600);
  };

  it("is renewed by the documented hook of an ACME client", async () => {
    const [first, second] = [await makePair(workspace, "first"), await makePair(workspace, "second")];
    const hook = "/etc/letsencrypt/renewal-hooks/deploy/steward";
    await session.host.writeFile(hook, documented("#!/bin/sh"), 0o755);
    const runHook = () => session.shell(`RENEWED_LINEAGE=${lineage} ${hook}`);
    await renew(first);
    await runHook();
    const config = "tls: { cert: /etc/steward/tls/fullchain.pem, key: /etc/steward/tls/privkey.pem }\n";
    const service = await session.host.startService({ config });
    expect(service.url).toMatch(/^https:/);
    expect(await shown(service.url)).toBe(sha256Of(first.cert));
    const pid = await service.pid();
    await renew(second);
    await runHook();
    await eventually(async () => expect(await shown(service.url)).toBe(sha256Of(second.cert)));
    expect(await service.pid()).toBe(pid);
    expect(await service.logs()).toContain("TLS certificate replaced");
    // The key is readable for the service and root, and nobody else.
    expect(await session.shell("stat -c '%U:%G %a' /etc/steward/tls/privkey.pem")).toBe("root:steward 640\n");
  });

  it("reads its pair from systemd's credentials, which a restart renews and a reload does not", async () => {
    const [first, second] = [await makePair(workspace, "third"), await makePair(workspace, "fourth")];
    await renew(first);
    const [dropIn = "", config = ""] = documented("# systemctl edit steward").split(/\n(?=tls:)/);
    await session.host.writeFile(`/etc/systemd/system/${unit}.d/60-tls.conf`, dropIn);
    const service = await session.host.startService({ config });
    expect(await shown(service.url)).toBe(sha256Of(first.cert));
    await renew(second);
    await session.shell(`systemctl reload ${unit}`);
    await eventually(async () => expect(await service.logs()).toContain("settings reloaded"));
    expect(await shown(service.url)).toBe(sha256Of(first.cert));
    await service.restart();
    expect(await shown(service.url)).toBe(sha256Of(second.cert));
  });

  it("tls_certificates fails for a chain that clients refuse, and passes for an expired certificate that they do not need", async () => {
    const [server, issuer, root, oldRoot] = [
      await makeParty("server"),
      await makeParty("Issuer"),
      await makeParty("Root"),
      await makeParty("Old Root"),
    ];
    await session.host.writeFile("/usr/local/share/ca-certificates/root.crt", await certify(root, root));
    await session.shell("update-ca-certificates");
    const serve = async (chain: readonly string[]) => {
      const key = PemConverter.encode(await crypto.subtle.exportKey("pkcs8", server.keys.privateKey), "PRIVATE KEY");
      await session.host.writeFile("/etc/steward/tls/chain.pem", chain.join(""));
      await session.host.writeFile("/etc/steward/tls/chain-key.pem", key, 0o600);
      await session.shell("chown steward: /etc/steward/tls/chain-key.pem");
      const config = "tls: { cert: /etc/steward/tls/chain.pem, key: /etc/steward/tls/chain-key.pem }\n";
      const service = await session.host.startService({ config });
      const { url, adminKey } = service;
      const curl = (...more: readonly string[]) =>
        session.host.exec(["curl", "--silent", "--show-error", ...more, `${url}/livez`], { allowFailure: true });
      const path = "/api/v1/health/checks/tls_certificates";
      const found = await session.shell(`curl --silent --fail --insecure -H 'X-API-Key: ${adminKey}' ${url}${path}`);
      return { client: (await curl()).stderr, check: JSON.parse(found) as object, logs: await service.logs() };
    };
    const leaf = await certify(server, issuer, { leaf: true });

    const crossSigned = await certify(root, oldRoot, { expired: true });
    expect(await serve([leaf, await certify(issuer, root), crossSigned])).toMatchObject({
      client: "",
      check: { status: "pass" },
      logs: expect.not.stringContaining("expired"),
    });
    expect(await serve([leaf, await certify(issuer, root, { expired: true }), crossSigned])).toMatchObject({
      client: expect.stringContaining("certificate has expired"),
      check: { status: "fail", message: "CN=Issuer in the chain of /etc/steward/tls/chain.pem has expired" },
      logs: expect.stringContaining("certificate CN=Issuer expired on"),
    });
  });
});
