import { X509Certificate } from "node:crypto";
import { constants, open } from "node:fs/promises";
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

/** More than any file with certificates that programs are given to trust. */
const mostBytes = 16 * 1024 * 1024;

/** The bytes of a file, wherever links lead; a pipe in its place is not waited for. */
async function readRegular(path: string): Promise<Buffer> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new Error("it is not a file");
    if (stat.size > mostBytes) throw new Error("it is too long");
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** Certificates in files: PEM, alone or as a chain or beside a key, or a single one as DER. */
export const certificateFiles: CertificateFiles = {
  async read(path) {
    try {
      const content = await readRegular(path);
      const blocks = content.toString("latin1").match(block);
      return blocks === null ? [datesOf(content)] : blocks.map(datesOf);
    } catch (error) {
      throw new Error(`cannot read ${path}: ${reasonOf(error)}`, { cause: error });
    }
  },
};
