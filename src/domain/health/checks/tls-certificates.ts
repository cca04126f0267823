import type { CheckStatus } from "#contract/checks.ts";
import type { CertificateDates, CertificateFiles } from "#domain/ports/network.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { counted, listNames } from "#kernel/text.ts";
import { type BuiltInCheck, createIgnore, skip, thresholdsFor } from "../check.ts";

const dayMs = 86_400_000;

interface Finding {
  readonly path: string;
  readonly status: Extract<CheckStatus, "pass" | "warn" | "fail">;
  readonly problem: string;
  readonly details: Readonly<Record<string, unknown>>;
}

const limits = { warn: 30, fail: 7 };

export function tlsCertificatesCheck(ports: {
  files: CertificateFiles;
  paths: () => readonly string[];
  clock: Pick<Clock, "now">;
}): BuiltInCheck {
  const { files, paths, clock } = ports;

  const checkFile = async (path: string, limits: { warn: number; fail: number }): Promise<Finding> => {
    try {
      const certificates = await files.read(path);
      const [own] = certificates;
      const [first] = certificates.toSorted((a, b) => a.validTo - b.validTo);
      if (own === undefined || first === undefined) throw new Error(`cannot read ${path}: no certificate in it`);
      const daysLeft = Math.floor((first.validTo - clock.now()) / dayMs);
      const details = {
        path,
        subject: first.subject,
        expires_at: toTimestamp(first.validTo),
        days_left: daysLeft,
      };
      const early = certificates.find(({ validFrom }) => validFrom > clock.now());
      const nameOf = (certificate: CertificateDates): string =>
        certificate === own ? path : `${certificate.subject} in the chain of ${path}`;
      if (early !== undefined) return { path, status: "fail", problem: `${nameOf(early)} is not valid yet`, details };
      const status = daysLeft < limits.fail ? "fail" : daysLeft < limits.warn ? "warn" : "pass";
      const when = daysLeft < 0 ? "has expired" : `expires in ${counted(daysLeft, "day")}`;
      return { path, status, problem: `${nameOf(first)} ${when}`, details };
    } catch (error) {
      const problem = errorMessage(error);
      return { path, status: "fail", problem, details: { path, error: problem } };
    }
  };

  return {
    id: "tls_certificates",
    name: "TLS certificates",
    category: "security",
    severity: "high",
    thresholds: limits,
    about:
      "Certificates that expire soon, in days: by default 30 warn, 7 fail; an unreadable file, or a certificate " +
      "that is not valid yet, fails. The first certificate of a chain to expire counts, without those that clients " +
      "of this host need not look at, since they trust a root of the same key. `ignore` takes paths.",
    meaning: "A certificate expires soon, has expired or cannot be read: clients will refuse the connection.",
    remedy: "Renew it, and find out why it was not renewed automatically.",
    intervalMs: 60 * 60_000,
    async run({ ignore, ...settings }) {
      const { warn, fail } = thresholdsFor(limits, settings);
      const isIgnored = createIgnore(ignore);
      const looked = [...new Set(paths())].filter((path) => !isIgnored(path));
      if (looked.length === 0) return skip("No certificate to look at");
      const findings = await Promise.all(looked.map((path) => checkFile(path, { warn, fail })));
      const details = { certificates: findings.map((finding) => finding.details) };
      const failing = findings.filter(({ status }) => status === "fail");
      const worst = failing.length > 0 ? failing : findings.filter(({ status }) => status === "warn");
      if (worst.length === 0) return { status: "pass", message: `No certificate expires within ${warn} days`, details };
      return {
        status: failing.length > 0 ? "fail" : "warn",
        message: listNames(worst.map(({ problem }) => problem)),
        details,
      };
    },
  };
}
