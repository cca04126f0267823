import { X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";

/** A certificate chain and its private key, PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** Who may sign certificates of clients, and which of them are taken back; PEM. */
export interface ClientTrust {
  readonly ca: string;
  readonly crl: string | undefined;
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`cannot read ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Reads a given pair.
 * @throws Error when a file cannot be read, others can read the private key, or the two do not belong together.
 */
export function readTlsPair(files: { cert: string; key: string }): TlsPair {
  const pair = { cert: read(files.cert), key: read(files.key) };
  if ((statSync(files.key).mode & 0o007) !== 0) {
    throw new Error(`cannot use ${files.key}: everybody can read or write this private key (chmod o-rwx it)`);
  }
  try {
    createSecureContext(pair);
  } catch (error) {
    throw new Error(`cannot use ${files.cert} with ${files.key}: ${reasonOf(error)}`, { cause: error });
  }
  return pair;
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** OpenSSL passes over what is no certificate, and would trust nobody then without a word. */
function assertCertificates(path: string, ca: string): void {
  const blocks = ca.match(certificateBlock);
  if (blocks === null) throw new Error(`cannot use ${path}: there is no certificate in it`);
  try {
    for (const block of blocks) new X509Certificate(block);
  } catch (error) {
    throw new Error(`cannot use ${path}: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Reads what certificates of clients are verified with.
 * @throws Error when a file cannot be read, or is not what it should be.
 */
export function readClientTrust(files: { ca: string; crl: string | undefined }): ClientTrust {
  const ca = read(files.ca);
  assertCertificates(files.ca, ca);
  if (files.crl === undefined) return { ca, crl: undefined };
  const crl = read(files.crl);
  try {
    createSecureContext({ ca, crl });
  } catch (error) {
    throw new Error(`cannot use ${files.crl}: ${reasonOf(error)}`, { cause: error });
  }
  return { ca, crl };
}

/** When a chain begins to fail its clients: as soon as one of its certificates has expired. Epoch milliseconds. */
export function lifetimeOf(chain: string): { readonly validFrom: number; readonly validTo: number } {
  const certificates = (chain.match(certificateBlock) ?? []).map((block) => new X509Certificate(block));
  return {
    validFrom: Math.max(...certificates.map(({ validFromDate }) => validFromDate.getTime())),
    validTo: Math.min(...certificates.map(({ validToDate }) => validToDate.getTime())),
  };
}

/** DNS names that a certificate is for, without patterns, in lower case. */
export function namesOf(cert: string): readonly string[] {
  const names = new X509Certificate(cert).subjectAltName ?? "";
  return [...names.matchAll(/DNS:([A-Za-z0-9.-]+)/g)].map(([, name = ""]) => name.toLowerCase());
}

/** SHA-256 of a certificate, lower-case hexadecimal. */
export const fingerprintOf = (cert: string): string =>
  new X509Certificate(cert).fingerprint256.replaceAll(":", "").toLowerCase();
