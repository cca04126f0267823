import { readFileSync, statSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { certName, keyName } from "./files.ts";

/** A certificate chain and its private key, PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Longest lifetime that clients accept of a certificate, in days. */
const lifetimeDays = 397;
/** A self-signed pair is made anew when it has less than this to live, in days. */
const renewDays = 30;
const dayMs = 86_400_000;

function assertBelongTogether(files: { cert: string; key: string }, { cert, key }: TlsPair): void {
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot use ${files.cert} with ${files.key}: ${reason}`, { cause: error });
  }
}

/**
 * Reads a given pair.
 * @throws Error when a file cannot be read, or others can read the private key.
 */
export function readTlsPair(files: { cert: string; key: string }): TlsPair {
  const read = (path: string): string => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      throw new Error(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  };
  const pair = { cert: read(files.cert), key: read(files.key) };
  if ((statSync(files.key).mode & 0o007) !== 0) {
    throw new Error(`cannot use ${files.key}: everybody can read or write this private key (chmod o-rwx it)`);
  }
  assertBelongTogether(files, pair);
  return pair;
}

async function isUsable({ cert }: TlsPair, now: number): Promise<boolean> {
  const { X509Certificate } = await import("node:crypto");
  return new X509Certificate(cert).validToDate.getTime() - now > renewDays * dayMs;
}

/** The pair of the last start; undefined when there is none, or a crash left halves that do not belong together. */
async function readUsable(files: { cert: string; key: string }, now: number): Promise<TlsPair | undefined> {
  try {
    const pair = readTlsPair(files);
    return (await isUsable(pair, now)) ? pair : undefined;
  } catch {
    return undefined;
  }
}

async function make(now: number): Promise<TlsPair> {
  // The certificate library decorates its classes at load and needs this to be there before.
  await import("reflect-metadata");
  const { BasicConstraintsExtension, PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } =
    await import("@peculiar/x509");
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .map(({ address }) => address);
  const cert = await X509CertificateGenerator.createSelfSigned({
    name: "CN=Steward",
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + lifetimeDays * dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new SubjectAlternativeNameExtension(
        [
          ...["localhost", hostname()].map((value) => ({ type: "dns" as const, value })),
          ...new Set(["127.0.0.1", "::1", ...addresses.filter((address) => !address.includes("%"))]),
        ].map((entry) => (typeof entry === "string" ? { type: "ip" as const, value: entry } : entry)),
      ),
    ],
  });
  const key = PemConverter.encode(await crypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  return { cert: cert.toString("pem"), key };
}

/**
 * The self-signed pair of the state folder, made when it is missing or about to expire.
 * @param write puts a private file into the state folder and gives its path.
 */
export async function selfSignedPair(ports: {
  stateDir: string;
  now: number;
  write: (name: string, content: string) => string;
}): Promise<TlsPair> {
  const { stateDir, now, write } = ports;
  const files = { cert: join(stateDir, certName), key: join(stateDir, keyName) };
  const kept = await readUsable(files, now);
  if (kept !== undefined) return kept;
  const pair = await make(now);
  write(keyName, pair.key);
  write(certName, pair.cert);
  return pair;
}
