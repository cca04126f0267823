import { hostname } from "node:os";
import { credentialCodec } from "#adapters/keystore/codec.ts";
import { type LostKeyStore, lostKeys, openKeyStore } from "#adapters/keystore/index.ts";
import { openPlanSeals } from "#adapters/plan-seals/index.ts";
import { openSessionStore } from "#adapters/session-store/index.ts";
import { createWebAuthn } from "#adapters/webauthn/index.ts";
import { createWindowStore } from "#adapters/window-store/index.ts";
import { keyMade } from "#app/first-key.ts";
import type { PartContext } from "#app/part.ts";
import type { Config } from "#config/load.ts";
import type { Caller } from "#contract/operation.ts";
import { accessHandlers } from "#domain/access/handlers.ts";
import { createKeyring, watchedStore } from "#domain/access/keyring.ts";
import { passkeyHandlers } from "#domain/access/passkey-handlers.ts";
import { createPasskeys } from "#domain/access/passkeys.ts";
import { createPlanTokens } from "#domain/access/plan-tokens.ts";
import { createRateLimiter } from "#domain/access/rate-limit.ts";
import { sessionHandlers } from "#domain/access/session-handlers.ts";
import { createSessions, type SessionLimits } from "#domain/access/sessions.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { Prober } from "#domain/health/prober.ts";
import type { CredentialCodec, KeyStore, WindowStore } from "#domain/ports/access.ts";
import type { PasskeyStore, WebAuthn } from "#domain/ports/passkeys.ts";
import type { PlanSeals } from "#domain/ports/plans.ts";
import type { SessionStore } from "#domain/ports/sessions.ts";
import { onceAMinute } from "#telemetry/logger.ts";
import type { AuditPart } from "./audit.ts";

/** Administrators make keys, so all have a budget. */
const maxKeys = 1_000_000;
const flushIntervalMs = 60_000;

export function createAccessPart(
  ports: Pick<PartContext, "clock" | "metrics"> & {
    readonly store: KeyStore;
    readonly codec: CredentialCodec;
    readonly hostName: () => string;
    readonly rateLimits: Config["rateLimits"];
    /** Stores hourly budgets; they are only in memory without it. */
    readonly windows?: WindowStore;
    readonly prober: Pick<Prober, "probeNow">;
    readonly planSeals: PlanSeals;
    readonly sessions: SessionStore;
    readonly passkeys: PasskeyStore;
    readonly webauthn: WebAuthn;
    readonly sessionLimits: SessionLimits;
  },
) {
  const { clock, metrics, codec, hostName, rateLimits, windows, prober } = ports;
  const keyring = createKeyring({
    clock,
    codec,
    hostName,
    store: watchedStore(ports.store, () => void prober.probeNow("security")),
  });
  const budgets =
    rateLimits === "off"
      ? undefined
      : createRateLimiter({
          clock,
          windows: [
            { name: "permin", quota: rateLimits.perMinute, seconds: 60 },
            { name: "perhour", quota: rateLimits.perHour, seconds: 3600, isStored: true },
          ],
          maxSubjects: maxKeys,
          ...(windows && { store: windows }),
        });
  const sessions = createSessions({ store: ports.sessions, codec, keyring, clock, limits: ports.sessionLimits });
  metrics.watchSessions(sessions.count);
  const passkeys = createPasskeys({
    store: ports.passkeys,
    webauthn: ports.webauthn,
    codec,
    keyring,
    clock,
    hostName,
  });
  return {
    handlers: accessHandlers({ keyring, clock, hostName }),
    sessionHandlers: sessionHandlers({ sessions, passkeys, keyring, clock, onLogin: metrics.login }),
    passkeyHandlers: passkeyHandlers({ passkeys, sessions, keyring }),
    keyring,
    hostName,
    sessions,
    hasEnded: (caller: Caller): boolean => keyring.hasEnded(caller) || sessions.hasEnded(caller),
    takeBudget: budgets?.take,
    plans: createPlanTokens({ seals: ports.planSeals, clock }),
    budgetOf: budgets?.look,
    flushBudgets: () => budgets?.flush(),
  };
}

async function knowsOfKeys(audit: Pick<AuditPart, "list">): Promise<boolean> {
  const any = {
    since: undefined,
    until: undefined,
    keyId: undefined,
    target: undefined,
    outcome: undefined,
    cursor: undefined,
  };
  const { entries } = await audit.list({ ...any, operation: keyMade, limit: 1 }, new AbortController().signal);
  return entries.length > 0;
}

async function openStore({ config, log }: PartContext, audit: Pick<AuditPart, "list">, isReplaced: boolean) {
  const { stateDir } = config;
  let lost: LostKeyStore | undefined;
  const replaceLost = (found: LostKeyStore): void => {
    lost = found;
    log.warn(found, "key store replaced, all former keys are gone");
  };
  const store = openKeyStore({ stateDir, replaceLost: isReplaced ? replaceLost : undefined });
  if (lost === undefined && store.keys().length === 0 && (await knowsOfKeys(audit))) {
    const reason = "it has no keys, but the audit log knows of one";
    if (!isReplaced) throw lostKeys(stateDir, reason);
    replaceLost({ reason, aside: undefined });
  }
  return { store, lost };
}

/** Opens the key store, without which there is no start, and then the audit log. @throws KeyStoreLost. */
export async function buildAccessPart(
  context: PartContext,
  ports: {
    readonly audit: Pick<AuditPart, "list" | "record" | "started">;
    readonly prober: Pick<Prober, "probeNow">;
    readonly isReplaced: boolean;
  },
) {
  const { config, clock, log } = context;
  const { audit, prober } = ports;
  const { store, lost } = await openStore(context, audit, ports.isReplaced);
  audit.started();
  if (lost !== undefined) {
    const { reason, aside = "nowhere" } = lost;
    audit.record(auditEvent("keystore.replaced", clock.now(), { target: { reason, aside } }));
  }
  const complain = onceAMinute(
    (reason, aside) => log.warn({ reason, set_aside: aside ?? null }, "cannot store used request budgets"),
    clock.monotonicMs,
  );
  const windows = createWindowStore({
    stateDir: config.stateDir,
    onTrouble: ({ message }, aside) => complain(message, aside),
  });
  const planSeals = openPlanSeals({
    stateDir: config.stateDir,
    clock,
    onTrouble: ({ message }, aside) =>
      log.warn({ reason: message, set_aside: aside ?? null }, "tokens of earlier plans are not good any more"),
  });
  const sessions = openSessionStore({
    stateDir: config.stateDir,
    onTrouble: ({ message }, aside) =>
      log.warn({ reason: message, set_aside: aside ?? null }, "all sessions are signed out"),
  });
  const part = createAccessPart({
    clock,
    metrics: context.metrics,
    sessions,
    passkeys: sessions.passkeys,
    webauthn: createWebAuthn(),
    sessionLimits: config.sessions,
    store,
    codec: credentialCodec,
    hostName: hostname,
    rateLimits: config.rateLimits,
    windows,
    prober,
    planSeals,
  });
  const flushUses = (): void => {
    try {
      part.keyring.flush();
    } catch (error) {
      log.error({ err: error }, "last uses of keys not written");
    }
    try {
      part.sessions.flush();
    } catch (error) {
      log.error({ err: error }, "last uses of sessions not written");
    }
  };
  const stopFlushing = clock.every(flushIntervalMs, flushUses);
  return {
    ...part,
    check: store.check,
    dispose(): void {
      stopFlushing();
      flushUses();
      part.flushBudgets();
      windows.dispose();
      planSeals.dispose();
      sessions.dispose();
      store.dispose();
    },
  };
}
