import { X509Certificate } from "node:crypto";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "#adapters/files/index.ts";
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
/** A self-signed pair is made anew when it has less than this to live, in days. */
const renewDays = 30;
const dayMs = 86_400_000;

/** Addresses with a zone are of one link only, and no certificate can name them. */
const namable = (addresses: readonly string[]): readonly string[] => [
  ...new Set(["127.0.0.1", "::1", ...addresses.filter((address) => !address.includes("%"))]),
];

/**
 * Whether the certificate is for this machine as it is now. An IPv6 address that is missing is no reason to make another:
 * temporary ones come and go every day (RFC 8981), and whoever was told of the certificate would have to be told again.
 */
function isForNames(certificate: X509Certificate, { hostname: name, addresses }: OwnNames): boolean {
  const isForName = ["localhost", name].every((each) => certificate.checkHost(each) !== undefined);
  const lasting = namable(addresses).filter((address) => !address.includes(":"));
  return isForName && lasting.every((address) => certificate.checkIP(address) !== undefined);
}

/** The pair of the state folder; undefined when there is none, or a crash left halves that do not belong together. */
function readKept(files: { cert: string; key: string }): TlsPair | undefined {
  try {
    return readTlsPair(files);
  } catch {
    return undefined;
  }
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

/**
 * The self-signed pair of the state folder, made when it is missing, about to expire, or of a machine with another name or
 * other addresses.
 * @param names this machine's own unless given.
 * @param looksAtNames whether other names than those in the certificate are a reason to make another.
 */
export async function selfSignedPair(ports: {
  stateDir: string;
  now: number;
  names?: OwnNames;
  looksAtNames?: boolean;
}): Promise<TlsPair> {
  const { stateDir, now, names = ownNames(), looksAtNames = false } = ports;
  const kept = readKept({ cert: join(stateDir, certName), key: join(stateDir, keyName) });
  if (kept !== undefined) {
    const certificate = new X509Certificate(kept.cert);
    const isLasting = certificate.validToDate.getTime() - now > renewDays * dayMs;
    if (isLasting && (!looksAtNames || isForNames(certificate, names))) return kept;
  }
  const pair = await make(now, names);
  writeFileAtomic(join(stateDir, keyName), pair.key);
  writeFileAtomic(join(stateDir, certName), pair.cert);
  return pair;
}
