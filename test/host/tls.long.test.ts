import { readFileSync } from "node:fs";
import { connect } from "node:tls";
import { afterAll, expect, it } from "vitest";
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
});
