import type { CertificateDates, CertificateFiles } from "#domain/ports/network.ts";

/** Files by path; any other cannot be read. */
export const createFakeCertificateFiles = (
  files: Readonly<Record<string, readonly CertificateDates[]>>,
): CertificateFiles => ({
  read(path) {
    const found = files[path];
    if (found === undefined) return Promise.reject(new Error(`cannot read ${path}: no such file`));
    return Promise.resolve(found);
  },
});
