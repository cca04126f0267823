import { credentialCodec } from "#adapters/keystore/codec.ts";
import { type LostKeyStore, lostKeys, openKeyStore } from "#adapters/keystore/index.ts";
import { openPlanSeals } from "#adapters/plan-seals/index.ts";
import { openSessionStore } from "#adapters/session-store/index.ts";
import { createWebAuthn } from "#adapters/webauthn/index.ts";
import { createWindowStore } from "#adapters/window-store/index.ts";
import { keyMade } from "#app/admin-key.ts";
import type { PartContext } from "#app/part.ts";
import type { Caller } from "#contract/operation.ts";
import { accessHandlers } from "#domain/access/handlers.ts";
import { createKeyring, watchedStore } from "#domain/access/keyring.ts";
import { passkeyHandlers } from "#domain/access/passkey-handlers.ts";
import { createPasskeys } from "#domain/access/passkeys.ts";
import { createPlanTokens } from "#domain/access/plan-tokens.ts";
import { createRateLimiter } from "#domain/access/rate-limit.ts";
import { sessionHandlers } from "#domain/access/session-handlers.ts";
import { createSessions } from "#domain/access/sessions.ts";
import { auditEvent } from "#domain/audit/entry.ts";
import type { Prober } from "#domain/health/prober.ts";
import type { KeyStore, WindowStore } from "#domain/ports/access.ts";
import type { PlanSeals } from "#domain/ports/approvals.ts";
import type { PasskeyStore, SessionStore } from "#domain/ports/sessions.ts";
import { orReport } from "#kernel/errors.ts";
import { onceAMinute } from "#telemetry/logger.ts";
import type { AuditPart } from "./audit.ts";

/** Administrators make keys, so all have a budget. */
const maxKeys = 1_000_000;
const flushIntervalMs = 60_000;

interface Earlier {
  readonly audit: Pick<AuditPart, "log" | "started">;
  readonly prober: Pick<Prober, "probeNow">;
}

interface AccessAdapters {
  readonly store: KeyStore;
  /** Why keys cannot be stored; undefined while they can. */
  readonly check: () => string | undefined;
  /** Stores hourly budgets; they are only in memory without it. */
  readonly windows?: WindowStore;
  readonly planSeals: PlanSeals;
  readonly sessions: SessionStore;
  readonly passkeys: PasskeyStore;
  readonly dispose?: () => void;
}

async function knowsOfKeys({ log }: Pick<AuditPart, "log">): Promise<boolean> {
  const any = {
    since: undefined,
    until: undefined,
    keyId: undefined,
    target: undefined,
    outcome: undefined,
    cursor: undefined,
  };
  const { entries } = await log.list({ ...any, operation: keyMade, limit: 1 }, new AbortController().signal);
  return entries.length > 0;
}

async function openKeys({ config, log, newAdminKey }: PartContext, audit: Pick<AuditPart, "log">) {
  const { stateDir } = config;
  let lost: LostKeyStore | undefined;
  const replaceLost = (found: LostKeyStore): void => {
    lost = found;
    log.warn(found, "key store replaced: all earlier keys are invalid");
  };
  const store = openKeyStore({ stateDir, replaceLost: newAdminKey ? replaceLost : undefined });
  if (lost === undefined && store.keys().length === 0 && (await knowsOfKeys(audit))) {
    const reason = "it has no keys, but the audit log knows of one";
    if (!newAdminKey) throw lostKeys(stateDir, reason);
    replaceLost({ reason, aside: undefined });
  }
  return { store, lost };
}

/** Opens the key store, without which there is no start, and then the audit log. @throws KeyStoreLost. */
async function openAccess(context: PartContext, { audit }: Earlier): Promise<AccessAdapters> {
  const { config, clock, log } = context;
  const { stateDir } = config;
  const { store, lost } = await openKeys(context, audit);
  audit.started();
  if (lost !== undefined) {
    const { reason, aside = "nowhere" } = lost;
    audit.log.record(auditEvent("keystore.replaced", clock.now(), { target: { reason, aside } }));
  }
  const complain = onceAMinute(
    (reason, aside) => log.warn({ reason, moved_aside: aside ?? null }, "cannot store used request budgets"),
    clock.monotonicMs,
  );
  const windows = createWindowStore({ stateDir, onTrouble: ({ message }, aside) => complain(message, aside) });
  const planSeals = openPlanSeals({
    stateDir,
    clock,
    onTrouble: ({ message }, aside) =>
      log.warn({ reason: message, moved_aside: aside ?? null }, "tokens of earlier plans are no longer valid"),
  });
  const sessions = openSessionStore({
    stateDir,
    onTrouble: ({ message }, aside) =>
      log.warn({ reason: message, moved_aside: aside ?? null }, "all sessions are signed out"),
  });
  return {
    store,
    check: store.check,
    windows,
    planSeals,
    sessions,
    passkeys: sessions.passkeys,
    dispose(): void {
      windows.dispose();
      planSeals.dispose();
      sessions.dispose();
      store.dispose();
    },
  };
}

function createBudgets({ clock, config: { rateLimits } }: PartContext, store: WindowStore | undefined) {
  if (rateLimits === "off") return undefined;
  return createRateLimiter({
    clock,
    windows: [
      { name: "permin", quota: rateLimits.perMinute, seconds: 60 },
      { name: "perhour", quota: rateLimits.perHour, seconds: 3600, isStored: true },
    ],
    maxSubjects: maxKeys,
    ...(store && { store }),
  });
}

/** Keys, sessions, passkeys, budgets and plan tokens. */
export async function accessPart(context: PartContext, earlier: Earlier, adapters?: AccessAdapters) {
  const { config, clock, log, metrics, hostName } = context;
  const { prober } = earlier;
  const opened = adapters ?? (await openAccess(context, earlier));
  const codec = credentialCodec;
  const keyring = createKeyring({
    clock,
    codec,
    hostName,
    store: watchedStore(opened.store, () => void prober.probeNow("security")),
  });
  const budgets = createBudgets(context, opened.windows);
  const sessions = createSessions({ store: opened.sessions, codec, keyring, clock, limits: config.sessions });
  metrics.watchSessions(sessions.count);
  const webauthn = createWebAuthn();
  const passkeys = createPasskeys({ store: opened.passkeys, webauthn, codec, keyring, clock, hostName });
  const flushUses = (): void => {
    orReport(keyring.flush, (error) => log.error({ err: error }, "cannot write the last uses of keys"));
    orReport(sessions.flush, (error) => log.error({ err: error }, "cannot write the last uses of sessions"));
  };
  const stopFlushing = clock.every(flushIntervalMs, flushUses);
  return {
    handlers: {
      ...accessHandlers({ keyring, clock, hostName }),
      ...sessionHandlers({ sessions, passkeys, keyring, clock, onLogin: metrics.login }),
      ...passkeyHandlers({ passkeys, sessions, keyring }),
    },
    keyring,
    sessions,
    hasEnded: (caller: Caller): boolean => keyring.hasEnded(caller) || sessions.hasEnded(caller),
    takeBudget: budgets?.take,
    plans: createPlanTokens({ seals: opened.planSeals, clock }),
    budgetOf: budgets?.look,
    check: opened.check,
    dispose(): void {
      stopFlushing();
      flushUses();
      budgets?.flush();
      opened.dispose?.();
    },
  };
}

export type AccessPart = Awaited<ReturnType<typeof accessPart>>;
