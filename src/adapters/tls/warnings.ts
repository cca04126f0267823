import { X509Certificate } from "node:crypto";
import { readRegularFile } from "#adapters/files/index.ts";
import type { CertificateDates, CertificateFiles } from "#domain/ports/network.ts";
import { toDay } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { anyCertificateBlock, type ClientTrust, certificatesIn, neededIn } from "./index.ts";

const serverAuth = "1.3.6.1.5.5.7.3.1";
const anyUsage = "2.5.29.37.0";

const subjectName = ({ subject }: X509Certificate): string => subject.replaceAll("\n", ", ") || "without a name";

function dateWarnings(certificates: readonly X509Certificate[], now: number): readonly string[] {
  return certificates.flatMap((certificate) => {
    const { validFromDate, validToDate } = certificate;
    if (validToDate.getTime() <= now)
      return [`certificate ${subjectName(certificate)} expired on ${toDay(validToDate.getTime())}`];
    if (validFromDate.getTime() > now)
      return [`certificate ${subjectName(certificate)} is not valid before ${toDay(validFromDate.getTime())}`];
    return [];
  });
}

export function chainWarnings(cert: string, now: number): readonly string[] {
  const chain = certificatesIn(cert);
  const [own] = chain;
  // Undefined is any usage; Node calls the extended key usage `keyUsage`.
  const usage: readonly string[] | undefined = own?.keyUsage;
  const isForServers = usage === undefined || usage.includes(serverAuth) || usage.includes(anyUsage);
  const order = chain.flatMap((certificate, at) => {
    const next = chain[at + 1];
    if (next === undefined || certificate.checkIssued(next)) return [];
    return [
      `certificate ${at + 2} of the chain, ${subjectName(next)}, did not issue the one before it (each certificate is followed by its issuer)`,
    ];
  });
  return [
    ...dateWarnings(neededIn(chain), now),
    ...order,
    ...(isForServers ? [] : ["the certificate is not for servers (its extended key usage lacks serverAuth)"]),
  ];
}

export async function trustWarnings({ ca, crl }: ClientTrust, now: number): Promise<readonly string[]> {
  const authorities = certificatesIn(ca);
  const dates = dateWarnings(authorities, now).map((warning) => `client_ca: ${warning}`);
  if (crl === undefined) return dates;
  // Large, and for hosts with a list alone.
  const { X509Certificate: Parsed, X509Crl } = await import("./x509.ts");
  const lists = crl.map((text) => new X509Crl(text));
  const issuers = new Set(lists.map(({ issuerName }) => issuerName.toString()));
  const missing = authorities.filter(({ raw }) => !issuers.has(new Parsed(raw).subjectName.toString()));
  const outdated = lists.filter(({ nextUpdate }) => nextUpdate !== undefined && nextUpdate.getTime() <= now);
  return [
    ...dates,
    ...missing.map((each) => `client_crl: there is no list of ${subjectName(each)}, so all of its clients are refused`),
    ...outdated.map(
      ({ issuer, nextUpdate }) =>
        `client_crl: the list of ${issuer} was to be renewed by ${toDay(nextUpdate?.getTime() ?? now)}, so all of its clients are refused`,
    ),
  ];
}

function datesOf(encoded: readonly (string | Buffer)[]): readonly CertificateDates[] {
  return neededIn(encoded.map((each) => new X509Certificate(each))).map((certificate) => ({
    subject: subjectName(certificate),
    validFrom: certificate.validFromDate.getTime(),
    validTo: certificate.validToDate.getTime(),
  }));
}

const maxBytes = 16 * 1024 * 1024;

function readDates(path: string): readonly CertificateDates[] {
  try {
    const { content } = readRegularFile(path, { maxBytes });
    const blocks = content.toString("latin1").match(anyCertificateBlock);
    return datesOf(blocks ?? [content]);
  } catch (error) {
    throw new Error(`cannot read ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

export const certificateFiles: CertificateFiles = {
  read: (path) => new Promise((resolve) => resolve(readDates(path))),
};
