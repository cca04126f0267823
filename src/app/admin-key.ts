import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readSecretFile, writeFileAtomic } from "#adapters/files/index.ts";
import { credentialCodec } from "#adapters/keystore/codec.ts";
import { listenersAt } from "#adapters/sockets/open-ports.ts";
import { certName } from "#adapters/tls/files.ts";
import type { Config } from "#config/load.ts";
import { adminKeyFile, readServiceFile } from "#config/places.ts";
import { roles } from "#contract/scopes.ts";
import type { Keyring } from "#domain/access/keyring.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { AuditLog } from "#domain/ports/audit.ts";
import { shellQuoted } from "#kernel/text.ts";
import type { PartContext } from "./part.ts";

export const keyMade = "key.made";

function ensureAdminKey(
  keyring: Pick<Keyring, "list" | "create">,
  stateDir: string,
  isAsked: boolean,
): { readonly path: string; readonly id: string } | undefined {
  if (keyring.list().length > 0 && !isAsked) return undefined;
  // The file is written first: after a crash in between, nobody would have the key in the store.
  const path = join(stateDir, adminKeyFile);
  const { record } = keyring.create({ name: "admin", scopes: roles.admin, expiresAt: null }, (text) =>
    writeFileAtomic(path, `${text}\n`),
  );
  return { path, id: record.id };
}

/** The file of the admin key of an earlier start, where it is still there and its key has not been revoked. */
function keptKeyFile(keyring: Pick<Keyring, "find">, stateDir: string): string | undefined {
  const path = join(stateDir, adminKeyFile);
  try {
    const presented = credentialCodec.parse(readSecretFile(path));
    return presented !== undefined && keyring.find(presented.id)?.revokedAt === null ? path : undefined;
  } catch {
    // Anyone who has put it elsewhere, as they should, knows where it is.
    return undefined;
  }
}

function firstKeyText(path: string, url: string, config: Config, certNames: readonly string[]): string {
  const { host, port } = new URL(url);
  const [name] = certNames;
  const isGiven = typeof config.tls === "object";
  const trusted = isGiven ? config.tls.cert : `${config.stateDir}/${certName}`;
  const trust = config.tls === "off" ? "" : ` --cacert ${shellQuoted(trusted)}`;
  const isAsked = isGiven && config.tls.client_certs === "required";
  const own = isAsked ? " --cert CERTIFICATE --key KEY" : "";
  // A given certificate is rarely valid for the loopback address.
  const isElsewhere = isGiven && name !== undefined;
  const route = isElsewhere ? ` --connect-to ${name}:${port}:${host}` : "";
  const base = isElsewhere ? `https://${name}:${port}` : url;
  return `\nThe admin key is in ${path}. Try:\n\n  curl${trust}${own}${route} -H "X-API-Key: $(cat ${shellQuoted(path)})" ${base}/api/v1/health\n\n`;
}

/** Makes the admin key where there is none or another one is wanted, and says where it is. */
export function announceKey(
  { config, clock, log, newAdminKey }: Pick<PartContext, "config" | "clock" | "log" | "newAdminKey">,
  parts: {
    readonly access: { readonly keyring: Keyring };
    readonly audit: { readonly log: Pick<AuditLog, "record"> };
    readonly tls: { readonly names: () => readonly string[] };
    readonly http: { readonly url: () => string };
  },
  { isAttended, report }: { readonly isAttended: boolean; readonly report: (text: string) => void },
): void {
  const { keyring } = parts.access;
  const made = ensureAdminKey(keyring, config.stateDir, newAdminKey);
  if (made !== undefined) {
    parts.audit.log.record(auditEvent(keyMade, clock.now(), { target: { id: made.id, name: "admin" } }));
    log.info({ path: made.path }, "admin key written");
  }
  const path = made?.path ?? (isAttended ? keptKeyFile(keyring, config.stateDir) : undefined);
  if (path !== undefined) report(firstKeyText(path, parts.http.url(), config, parts.tls.names()));
}

const defaultPort = 80;
const root = 0;

type Holder = "service" | "nobody" | number;

async function holderOf(url: URL, own: ReadonlySet<number>): Promise<Holder> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const users = await listenersAt({ host, port: url.port === "" ? defaultPort : Number(url.port) });
  if (users.size === 0) return "nobody";
  return [...users].find((uid) => !own.has(uid)) ?? "service";
}

/** Any user may take the port while the service does not hold it, so the holder counts. @throws Error when unreadable. */
export async function readAdminKey(
  path: string,
  url: string,
): Promise<{ readonly text: string; readonly holder: Holder }> {
  const { text, uid } = readServiceFile(path);
  const address = new URL(url);
  if (address.protocol === "https:") return { text, holder: "service" };
  const own = new Set([root, uid, (await stat(dirname(path))).uid]);
  return { text, holder: await holderOf(address, own) };
}
