import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { CertificateDates, CertificateFiles } from "#domain/health/network/ports.ts";

const block = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function datesOf(encoded: string | Buffer): CertificateDates {
  const { subject, validFromDate, validToDate } = new X509Certificate(encoded);
  return {
    subject: subject.replaceAll("\n", ", "),
    validFrom: validFromDate.getTime(),
    validTo: validToDate.getTime(),
  };
}

/** Certificates in files: PEM, alone or as a chain or beside a key, or a single one as DER. */
export const certificateFiles: CertificateFiles = {
  async read(path) {
    try {
      const content = await readFile(path);
      const blocks = content.toString("latin1").match(block);
      return blocks === null ? [datesOf(content)] : blocks.map(datesOf);
    } catch (error) {
      throw new Error(`cannot read ${path}: ${reasonOf(error)}`, { cause: error });
    }
  },
};
