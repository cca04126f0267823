import { X509Certificate } from "node:crypto";
import { readRegularFile } from "#adapters/files/index.ts";
import type { CertificateDates, CertificateFiles } from "#domain/ports/network.ts";
import { errorMessage } from "#kernel/errors.ts";

const block = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

function datesOf(encoded: string | Buffer): CertificateDates {
  const { subject, validFromDate, validToDate } = new X509Certificate(encoded);
  return {
    subject: subject.replaceAll("\n", ", "),
    validFrom: validFromDate.getTime(),
    validTo: validToDate.getTime(),
  };
}

/** More than any file with certificates that programs are given to trust. */
const maxBytes = 16 * 1024 * 1024;

function readDates(path: string): readonly CertificateDates[] {
  try {
    const { content } = readRegularFile(path, { maxBytes });
    const blocks = content.toString("latin1").match(block);
    return blocks === null ? [datesOf(content)] : blocks.map(datesOf);
  } catch (error) {
    throw new Error(`cannot read ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

/** Certificates in files: PEM, alone or as a chain or beside a key, or a single one as DER. */
export const certificateFiles: CertificateFiles = {
  read: (path) => new Promise((resolve) => resolve(readDates(path))),
};
