import { X509Certificate } from "node:crypto";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "#adapters/files/index.ts";
import { orElse } from "#kernel/errors.ts";
import { certName, keyName } from "./files.ts";
import { readTlsPair, type TlsPair } from "./index.ts";

export interface OwnNames {
  readonly hostname: string;
  readonly addresses: readonly string[];
}

const ownNames = (): OwnNames => ({
  hostname: hostname(),
  addresses: Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
});

/** Longest lifetime that clients accept of a certificate, in days. */
const lifetimeDays = 397;
const renewDays = 30;
const dayMs = 86_400_000;

const namable = (addresses: readonly string[]): readonly string[] => [
  ...new Set(["127.0.0.1", "::1", ...addresses.filter((address) => !address.includes("%"))]),
];

/** Missing IPv6 addresses are no reason for a new one: temporary addresses change daily (RFC 8981). */
function isForNames(certificate: X509Certificate, { hostname: name, addresses }: OwnNames): boolean {
  const isForName = ["localhost", name].every((each) => certificate.checkHost(each) !== undefined);
  const lasting = namable(addresses).filter((address) => !address.includes(":"));
  return isForName && lasting.every((address) => certificate.checkIP(address) !== undefined);
}

async function make(now: number, { hostname: ownName, addresses }: OwnNames): Promise<TlsPair> {
  // Large, and for one start of a year.
  const { BasicConstraintsExtension, PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } =
    await import("./x509.ts");
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const cert = await X509CertificateGenerator.createSelfSigned({
    name: "CN=Steward",
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + lifetimeDays * dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new SubjectAlternativeNameExtension([
        ...[...new Set(["localhost", ownName])].map((value) => ({ type: "dns" as const, value })),
        ...namable(addresses).map((value) => ({ type: "ip" as const, value })),
      ]),
    ],
  });
  const key = PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return { cert: cert.toString("pem"), key };
}

/** Made when missing, about to expire, or for other names. @param looksAtNames whether other names count. */
export async function selfSignedPair(ports: {
  stateDir: string;
  now: number;
  names?: OwnNames;
  looksAtNames?: boolean;
}): Promise<TlsPair> {
  const { stateDir, now, names = ownNames(), looksAtNames = false } = ports;
  const files = { cert: join(stateDir, certName), key: join(stateDir, keyName) };
  // After a crash the halves may not belong together.
  const kept = orElse(() => readTlsPair(files), undefined);
  if (kept !== undefined) {
    const certificate = new X509Certificate(kept.cert);
    const isLasting = certificate.validToDate.getTime() - now > renewDays * dayMs;
    if (isLasting && (!looksAtNames || isForNames(certificate, names))) return kept;
  }
  const pair = await make(now, names);
  writeFileAtomic(files.key, pair.key);
  writeFileAtomic(files.cert, pair.cert);
  return pair;
}
