import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import { certificateFiles } from "#adapters/tls/warnings.ts";
import type { CertificateFiles } from "#domain/ports/network.ts";
import { createFakeCertificateFiles } from "../fakes/certificate-files.ts";

const dayMs = 86_400_000;
/** Certificates count in whole seconds. */
const now = Math.floor(Date.now() / 1000) * 1000;
const dates = { subject: "CN=Steward", validFrom: now - dayMs, validTo: now + 397 * dayMs };

let folder: string;
const path = (name: string): string => join(folder, name);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "steward-certificates-"));
  const write = (name: string, content: string | Buffer): string => {
    writeFileSync(path(name), content, { mode: 0o600 });
    return path(name);
  };
  const { cert, key } = await selfSignedPair({ stateDir: folder, now });
  write("one.pem", cert);
  write("chain.pem", `${key}\nintermediate:\n${cert}\n${cert}`);
  write("one.der", new X509Certificate(cert).raw);
  write("key.pem", key);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each([
  ["fake", () => createFakeCertificateFiles({ [path("one.pem")]: [dates], [path("chain.pem")]: [dates, dates] })],
  ["files", () => certificateFiles],
] as const)("certificates: %s", (_, make: () => CertificateFiles) => {
  it("are read with their dates, all of a chain", async () => {
    expect(await make().read(path("one.pem"))).toEqual([dates]);
    expect(await make().read(path("chain.pem"))).toEqual([dates, dates]);
  });

  it("name the file that cannot be read", async () => {
    await expect(make().read("/nowhere.pem")).rejects.toThrow("cannot read /nowhere.pem");
  });
});

describe("certificates: files", () => {
  it("say of an issuer whose key clients trust as a root that they do", async () => {
    const root = rootCertificates[0] ?? "";
    writeFileSync(path("public.pem"), `${readFileSync(path("one.pem"), "latin1")}\n${root}`);
    const [own, issuer] = await certificateFiles.read(path("public.pem"));
    expect([own?.isTrusted, issuer?.isTrusted]).toEqual([undefined, true]);
  });

  it("may be DER, and must be certificates", async () => {
    expect(await certificateFiles.read(path("one.der"))).toEqual([dates]);
    await expect(certificateFiles.read(path("key.pem"))).rejects.toThrow(`cannot read ${path("key.pem")}: `);
  });
});
