import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext, rootCertificates } from "node:tls";
import { isOpenToEverybody, readRegularFile, readTextFile } from "#adapters/files/index.ts";
import { errorMessage, orElse } from "#kernel/errors.ts";

export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

export interface ClientTrust {
  readonly ca: string;
  /** One element for each list: of several in one text, OpenSSL takes the first and ignores the others. */
  readonly crl: readonly string[] | undefined;
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;
const crlBlock = /-----BEGIN X509 CRL-----[\s\S]*?-----END X509 CRL-----/g;

export function certificatesIn(text: string): readonly X509Certificate[] {
  const blocks = text.match(certificateBlock);
  if (blocks === null) throw new Error("there is no certificate in it");
  return blocks.map((block) => new X509Certificate(block));
}

function privateKeyIn(text: string): KeyObject {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    throw new Error("the private key is protected by a passphrase (write one without: openssl pkey -in KEY -out NEW)");
  }
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new Error(`there is no private key in it (${errorMessage(error)})`, { cause: error });
  }
}

/** @throws Error when the key is not that of the first certificate, which is the one that the service proves itself with. */
function requireSameKey(chain: readonly X509Certificate[], key: KeyObject): void {
  const at = chain.findIndex((certificate) => certificate.checkPrivateKey(key));
  if (at === 0) return;
  throw new Error(
    at > 0
      ? `the private key is that of certificate ${at + 1} in the file, not of the first (the service's own certificate comes first, its issuer next)`
      : "the private key is not that of the certificate",
  );
}

const inFile = <T>(path: string, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw new Error(`cannot use ${path}: ${errorMessage(error)}`, { cause: error });
  }
};

/** @throws Error when a file cannot be read, others can read the private key, or the two do not match. */
export function readTlsPair(files: { cert: string; key: string }): TlsPair {
  const cert = readTextFile(files.cert);
  const key = inFile(files.key, () => {
    const file = readRegularFile(files.key);
    if (!isOpenToEverybody(file.stat)) return file.content.toString("utf8");
    throw new Error("everybody can read or write this private key (chmod o-rwx it)");
  });
  const chain = inFile(files.cert, () => certificatesIn(cert));
  const privateKey = inFile(files.key, () => privateKeyIn(key));
  inFile(`${files.cert} with ${files.key}`, () => {
    requireSameKey(chain, privateKey);
    createSecureContext({ cert, key });
  });
  return { cert, key };
}

/** @throws Error when a file cannot be read or is invalid. */
export function readClientTrust(files: { ca: string; crl: string | undefined }): ClientTrust {
  const ca = readTextFile(files.ca);
  // OpenSSL ignores what is not a certificate, and would then trust nobody without a word.
  inFile(files.ca, () => certificatesIn(ca));
  if (files.crl === undefined) return { ca, crl: undefined };
  const text = readTextFile(files.crl);
  const crl = inFile(files.crl, () => {
    const lists = text.match(crlBlock);
    if (lists === null) throw new Error("there is no certificate revocation list in it");
    createSecureContext({ ca, crl: [...lists] });
    return [...lists];
  });
  return { ca, crl };
}

export const anyCertificateBlock =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

/** Where distributions keep the roots that they trust, after those of Node. */
const bundles = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

const keyOf = ({ publicKey }: X509Certificate): string =>
  publicKey.export({ type: "spki", format: "der" }).toString("base64");

/** The keys of all roots that clients of this host trust. */
const trustedKeys = (): ReadonlySet<string> => {
  const ofHost = bundles.flatMap((path) =>
    orElse(() => readFileSync(path, "latin1").match(anyCertificateBlock) ?? [], []),
  );
  return new Set(
    [...rootCertificates, ...ofHost].flatMap((text) => orElse(() => [keyOf(new X509Certificate(text))], [])),
  );
};

/**
 * The certificates of a chain whose dates matter to clients. They end a chain at the first root of their own: a certificate of the same key
 * by an older root, and what follows it, is for older clients.
 */
export function neededIn(chain: readonly X509Certificate[]): readonly X509Certificate[] {
  const [own, ...issuers] = chain;
  // Reading the roots takes tens of milliseconds.
  if (own === undefined || issuers.every(({ validToDate }) => validToDate >= own.validToDate)) return chain;
  const trusted = trustedKeys();
  const end = issuers.findIndex((certificate) => trusted.has(keyOf(certificate)));
  return end < 0 ? chain : chain.slice(0, end + 1);
}

/** When a chain begins to fail its clients: as soon as one of its certificates that they need has expired. Epoch milliseconds. */
export function lifetimeOf(chain: string): { readonly validFrom: number; readonly validTo: number } {
  const certificates = neededIn(certificatesIn(chain));
  return {
    validFrom: Math.max(...certificates.map(({ validFromDate }) => validFromDate.getTime())),
    validTo: Math.min(...certificates.map(({ validToDate }) => validToDate.getTime())),
  };
}

export function namesOf(cert: string): readonly string[] {
  const names = new X509Certificate(cert).subjectAltName ?? "";
  return [...names.matchAll(/DNS:([A-Za-z0-9.-]+)/g)].map(([, name = ""]) => name.toLowerCase());
}

export const fingerprintOf = (cert: string): string =>
  new X509Certificate(cert).fingerprint256.replaceAll(":", "").toLowerCase();
