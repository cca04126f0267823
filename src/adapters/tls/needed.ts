import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { orElse } from "#kernel/errors.ts";

export const certificateBlock =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

/** Where distributions keep the roots that they trust, after those of Node. */
const bundles = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

const keyOf = ({ publicKey }: X509Certificate): string =>
  publicKey.export({ type: "spki", format: "der" }).toString("base64");

/** The keys of all roots that clients of this host trust. */
const trustedKeys = (): ReadonlySet<string> => {
  const ofHost = bundles.flatMap((path) =>
    orElse(() => readFileSync(path, "latin1").match(certificateBlock) ?? [], []),
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
