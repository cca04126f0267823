import { join } from "node:path";
import { FileUnreadable } from "#adapters/files/index.ts";
import { certName } from "#adapters/tls/files.ts";
import { fingerprintOf, lifetimeOf, namesOf, readClientTrust, readTlsPair } from "#adapters/tls/index.ts";
import { selfSignedPair } from "#adapters/tls/self-signed.ts";
import { chainWarnings, trustWarnings } from "#adapters/tls/warnings.ts";
import type { PartContext } from "#app/part.ts";
import type { Config } from "#config/load.ts";
import type { Dispose } from "#kernel/clock.ts";
import { errorMessage } from "#kernel/errors.ts";
import { requireHandshake, type ServerTls, verifiesAnew } from "#transports/http/tls.ts";

export interface TlsPart {
  readonly current: () => ServerTls | undefined;
  readonly names: () => readonly string[];
  readonly paths: () => readonly string[];
  /** Reads files and settings again. Errors are logged, and the former certificate stays. */
  readonly reload: (next: Pick<Config, "tls" | "stateDir">) => Promise<void>;
  /** Checks for renewed files, and the expiry of the certificate. */
  readonly look: () => Promise<void>;
  readonly watch: (replace: (tls: ServerTls) => void) => Dispose;
}

type Source = Pick<Config, "tls" | "stateDir">;

/** A pair that is renewed without a reload is served within the hour. */
const lookMs = 60 * 60_000;
const dayMs = 24 * lookMs;
/** Remaining time from which the expiry is reported once a day; a third of the lifetime of short-lived certificates. */
const warnMs = 14 * dayMs;

const onlyByRestart = "settings changed that take effect with a restart";

async function readTls({ tls, stateDir }: Source, now: number, looksAtNames: boolean): Promise<ServerTls | undefined> {
  if (tls === "off") return undefined;
  if (tls === "auto") return selfSignedPair({ stateDir, now, looksAtNames });
  const pair = readTlsPair(tls);
  if (tls.client_ca === undefined) return pair;
  const trust = readClientTrust({ ca: tls.client_ca, crl: tls.client_crl });
  return { ...pair, clients: { ...trust, isRequired: tls.client_certs === "required" } };
}

const isSame = (one: ServerTls, other: ServerTls): boolean =>
  one.cert === other.cert && one.key === other.key && !verifiesAnew(one, other);

async function requireUsable(tls: ServerTls, source: Source): Promise<void> {
  try {
    await requireHandshake(tls);
  } catch (error) {
    const paths = typeof source.tls === "object" ? `${source.tls.cert} with ${source.tls.key}` : "the certificate";
    throw new Error(`cannot use ${paths}: ${errorMessage(error)}`, { cause: error });
  }
}

async function warningsOf({ cert, clients }: ServerTls, now: number): Promise<readonly string[]> {
  const trust = clients && { ca: clients.ca, crl: clients.crl };
  return [...chainWarnings(cert, now), ...(trust === undefined ? [] : await trustWarnings(trust, now))];
}

/** Checks the TLS files of the settings as a start would. A file that only this user may not read is a warning. */
export async function checkTlsFiles(
  { tls, stateDir }: Source,
  now: number,
): Promise<{ readonly faults: readonly string[]; readonly warnings: readonly string[] }> {
  // The service makes the pair of `auto` itself.
  if (typeof tls === "string") return { faults: [], warnings: [] };
  const source = { tls, stateDir };
  try {
    const read = await readTls(source, now, false);
    if (read === undefined) return { faults: [], warnings: [] };
    await requireUsable(read, source);
    return { faults: [], warnings: await warningsOf(read, now) };
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    const isForbidden = cause instanceof FileUnreadable && cause.code === "EACCES";
    if (!isForbidden) return { faults: [errorMessage(error)], warnings: [] };
    return { faults: [], warnings: [`${errorMessage(error)} (not checked: run this as root)`] };
  }
}

export function certificatePaths({ tls, stateDir }: Source): readonly string[] {
  if (tls === "off") return [];
  if (tls === "auto") return [join(stateDir, certName)];
  return [tls.cert, ...(tls.client_ca === undefined ? [] : [tls.client_ca])];
}

/** Whether clients are asked for certificates cannot change after the start; the CAs can. */
const keepAsking = (before: ServerTls, { clients, ...pair }: ServerTls): ServerTls =>
  before.clients === undefined
    ? pair
    : { ...pair, clients: { ...(clients ?? before.clients), isRequired: before.clients.isRequired } };

export async function tlsPart({
  config,
  clock,
  log,
}: Pick<PartContext, "clock" | "log"> & { readonly config: Source }): Promise<TlsPart> {
  let source = config;
  let current = await readTls(source, clock.now(), true);
  let names: readonly string[] = [];
  let replace: ((tls: ServerTls) => void) | undefined;
  let warnedAt = Number.NEGATIVE_INFINITY;

  const describe = async (tls: ServerTls): Promise<void> => {
    names = namesOf(tls.cert);
    for (const problem of await warningsOf(tls, clock.now())) log.warn({ problem }, "TLS files have a problem");
  };
  if (current !== undefined) {
    await requireUsable(current, source);
    await describe(current);
  }

  const use = async (next: ServerTls): Promise<void> => {
    const { validTo } = lifetimeOf(next.cert);
    if (current !== undefined && validTo <= clock.now() && lifetimeOf(current.cert).validTo > clock.now()) {
      throw new Error("cannot use the certificate: it has expired, and the one in use has not");
    }
    replace?.(next);
    current = next;
    await describe(next);
    warnedAt = Number.NEGATIVE_INFINITY;
    const fields = { cert_sha256: fingerprintOf(next.cert), expires_at: new Date(validTo).toISOString(), names };
    log.info(fields, "TLS certificate replaced");
  };

  const renew = async (from: Source, looksAtNames: boolean): Promise<void> => {
    if (current === undefined) return;
    try {
      const read = await readTls(from, clock.now(), looksAtNames);
      if (read === undefined) return;
      const next = keepAsking(current, read);
      if (!isSame(current, next)) {
        await requireUsable(next, from);
        await use(next);
      }
      source = from;
    } catch (error) {
      log.error({ err: error }, "cannot reload TLS: the previous certificate stays in use");
    }
  };

  const warnOfEnd = (): void => {
    if (current === undefined || clock.now() - warnedAt < dayMs) return;
    const { validFrom, validTo } = lifetimeOf(current.cert);
    if (validTo - clock.now() > Math.min(warnMs, (validTo - validFrom) / 3)) return;
    warnedAt = clock.now();
    const hasExpired = validTo <= clock.now();
    log.warn(
      { expires_at: new Date(validTo).toISOString(), paths: certificatePaths(source) },
      hasExpired ? "TLS certificate has expired" : "TLS certificate expires soon",
    );
  };

  // One after the other, so that what is read later is used later.
  let last = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work).catch((error: unknown) => log.error({ err: error }, "cannot check the TLS files"));
    return last;
  };

  const needsRestart = (next: Source): boolean => {
    if ((next.tls === "off") !== (current === undefined)) return true;
    const asked = typeof next.tls === "object" && next.tls.client_ca !== undefined ? next.tls.client_certs : "never";
    const asks = current?.clients === undefined ? "never" : current.clients.isRequired ? "required" : "optional";
    return (asked ?? "optional") !== asks;
  };

  const look = (): Promise<void> => inTurn(() => renew(source, false).then(warnOfEnd));

  return {
    current: () => current,
    names: () => names,
    paths: () => certificatePaths(source),
    reload: (next) =>
      inTurn(async () => {
        if (needsRestart(next)) log.warn({ parts: ["tls"] }, onlyByRestart);
        if (next.tls !== "off") await renew(next, true);
      }),
    look,
    watch(onReplaced) {
      replace = onReplaced;
      if (current === undefined) return () => undefined;
      warnOfEnd();
      return clock.every(lookMs, () => void look());
    },
  };
}
