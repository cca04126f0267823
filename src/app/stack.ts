import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { readTextFile } from "#adapters/files/index.ts";
import { certName } from "#adapters/tls/files.ts";
import type { Config } from "#config/load.ts";
import { notificationTargets } from "#config/notifications.ts";
import { localUrl } from "#config/text.ts";

function certificateOf({ tls, stateDir }: Pick<Config, "tls" | "stateDir">): string | undefined {
  if (tls === "off") return undefined;
  const path = tls === "auto" ? join(stateDir, certName) : tls.cert;
  if (tls !== "auto") return readTextFile(path);
  if (existsSync(path)) return readTextFile(path, { followsLinks: false });
  throw new Error(`cannot read ${path}: the first start of the service makes it`);
}

function trustFor(pem: string, url: string): { readonly certificate?: string; readonly serverName?: string } {
  const certificate = new X509Certificate(pem);
  const isSelfSigned = certificate.checkIssued(certificate);
  const name = new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
  const isNamed = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name);
  const [, other] = /\bDNS:([^,\s"]+)/.exec(certificate.subjectAltName ?? "") ?? [];
  return {
    // Not the file itself, which may contain the private key.
    ...(isSelfSigned && { certificate: certificate.toString() }),
    ...(isNamed === undefined && other !== undefined && !other.startsWith("*") && { serverName: other }),
  };
}

function mailOf(config: Config) {
  const { email } = notificationTargets(config.settings);
  const found = email.find(({ channel }) => channel === "email");
  if (found === undefined) return undefined;
  const { server, from, to } = found.settings;
  return {
    smtp: server.url.href,
    isTlsRequired: server.url.protocol === "smtps:" || server.startTls === "required",
    from,
    to,
    ...(server.login !== undefined && { user: server.login.user }),
  };
}

export function stackHost(config: Config, givenUrl: string | undefined) {
  const url = givenUrl ?? localUrl(config);
  const isOwn = new URL(url).protocol === "https:" && config.tls !== "off";
  const pem = isOwn ? certificateOf(config) : undefined;
  const mail = mailOf(config);
  return {
    name: hostname(),
    url,
    ...(pem !== undefined && trustFor(pem, url)),
    ...(mail !== undefined && { mail }),
  };
}
