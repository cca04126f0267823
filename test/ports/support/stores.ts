import { openAlertStore } from "#adapters/alert-store/index.ts";
import { openApprovalStore } from "#adapters/approvals/index.ts";
import { openCheckHistory } from "#adapters/check-history/index.ts";
import { openPlanSeals } from "#adapters/plan-seals/index.ts";
import { openSessionStore } from "#adapters/session-store/index.ts";
import type { StoreOptions } from "#adapters/sqlite/index.ts";
import { openTokenLedger } from "#adapters/token-ledger/index.ts";
import { openTraces } from "#adapters/trace-store/index.ts";
import { createWindowStore } from "#adapters/window-store/index.ts";
import type { ApprovalRecord } from "#domain/ports/approvals.ts";
import type { StoredNotification } from "#domain/ports/notifications.ts";
import type { PasskeyRecord, SessionRecord } from "#domain/ports/sessions.ts";

export const approval = (id: string, rest: Partial<ApprovalRecord> = {}): ApprovalRecord => ({
  ...{ id, revision: 1, status: "pending", operation: "restartService", input: { params: { name: "web.service" } } },
  ...{ inputDigest: "", digest: "d", changed: null, reason: null, idempotencyKey: null, override: null, error: null },
  ...{ needs: [{ scope: "services:restart", resource: "web.service" }], required: 1, approvals: [], decidedBy: null },
  plan: {
    ...{ dry_run: true, steps: ["restart web.service"], units: ["web.service"], packages: [] },
    ...{ bytes: 0, requires_reboot: false },
  },
  proposer: { keyId: "k", keyName: "n", credential: "key", granted: ["propose:services:restart"], expiresAt: null },
  ...{ createdAt: 1, expiresAt: 2, finishedAt: null, operationId: null, result: null },
  ...rest,
});

export const notification = (id: string, changes: Partial<StoredNotification> = {}): StoredNotification => ({
  ...{ id, kind: "component_down", subject: "web", channel: "email", to: ["ops@example.org", "night@example.org"] },
  message: { id, at: 1_700_000_000_000, isGood: false, title: 'web is "not" well – ü', facts: [["Reason", "a\"b'c"]] },
  ...{ attempts: 0, outcome: "queued", error: null, endedAt: null },
  ...changes,
});

export const sessionRecord = (id: string, rest: Partial<SessionRecord> = {}): SessionRecord => ({
  ...{ id, keyId: "key", cookieDigest: "c".repeat(64), secretDigest: "s".repeat(64) },
  ...{ createdAt: 1000, endsAt: 9000, elevatedUntil: null, lastUsedAt: 1000, remoteAddress: null },
  ...rest,
});

export const passkey = (id: string, rest: Partial<PasskeyRecord> = {}): PasskeyRecord => ({
  ...{ id, keyId: "key", name: "laptop", credentialId: "Y3JlZA", domain: "localhost" },
  ...{
    publicKey: Uint8Array.of(1, 2, 0xff),
    counter: 4_294_967_295,
    isSynced: true,
    createdAt: 1000,
    lastUsedAt: null,
  },
  ...rest,
});

/** A store of a database that the service can do without. */
interface OpenStore {
  readonly write: () => void;
  readonly read: () => unknown;
  readonly dispose: () => void;
}

interface StoreOnDisk {
  readonly file: string;
  /** Whether it takes what lasts no longer than the process where no file can be written. */
  readonly worksInMemory: boolean;
  readonly open: (options: StoreOptions) => OpenStore;
}

const run = { checkedAt: 1, status: "pass", message: "m", durationMs: 3 } as const;

export const storesOnDisk: Readonly<Record<string, StoreOnDisk>> = {
  "alerts and notifications": {
    file: "alerts.db",
    worksInMemory: true,
    open(options) {
      const { alerts, notifications, dispose } = openAlertStore(options);
      const wait = { heldMs: 15_000.5, sinceNotifiedMs: 0, groupMs: null, isFirstWait: false };
      return {
        write() {
          alerts.saveAlert({ name: "DiskSpaceLow", isFiring: true, isNotifiedFiring: false, ...wait, savedAt: 1 });
          notifications.saveNotification(notification("a"));
        },
        read: () => [alerts.alerts(), notifications.notifications()],
        dispose,
      };
    },
  },
  approvals: {
    file: "approvals.db",
    worksInMemory: false,
    open(options) {
      const { save, list, dispose } = openApprovalStore(options);
      return { write: () => save(approval("a", { input: { body: { text: "ü\n\u0000" } } })), read: list, dispose };
    },
  },
  "history of checks": {
    file: "check-history.db",
    worksInMemory: true,
    open(options) {
      const store = openCheckHistory(options);
      const states = new Map([["memory", { status: "pass", since: 1, consecutiveFailures: 0 } as const]]);
      return {
        write: () => store.apply({ runs: new Map([["memory", [run]]]), states }),
        read: () => [store.runs("memory", 0), store.state("memory")],
        dispose: store.dispose,
      };
    },
  },
  "plan seals": {
    file: "plans.db",
    worksInMemory: true,
    open(options) {
      const seals = openPlanSeals({ ...options, clock: { now: () => 0 } });
      return { write: () => seals.use("one", "first", 1), read: () => seals.userOf("one"), dispose: seals.dispose };
    },
  },
  "sessions and passkeys": {
    file: "sessions.db",
    worksInMemory: false,
    open(options) {
      const { put, sessions, passkeys, dispose } = openSessionStore(options);
      return {
        write() {
          put(sessionRecord("a"));
          passkeys.put(passkey("p"));
        },
        read: () => [sessions(), passkeys.list()],
        dispose,
      };
    },
  },
  "token ledger": {
    file: "tokens.db",
    worksInMemory: true,
    open(options) {
      const { add, used, dispose } = openTokenLedger(options);
      return { write: () => add("key", "2026-11-22", 9), read: () => used("key", "2026-11-22"), dispose };
    },
  },
  traces: {
    file: "traces.db",
    worksInMemory: true,
    open(options) {
      const { add, list, dispose } = openTraces({ ...options, keepBytes: 8e6 });
      const ids = { traceId: "7".padStart(32, "0"), spanId: "1".padStart(16, "0") };
      const span = { ...ids, isRoot: true, isError: false, name: "GET /", startUs: 1, endUs: 2, json: "{}" };
      const all = { service: undefined, origin: undefined, minDurationUs: 0, sinceUs: 0, after: undefined, limit: 9 };
      return {
        write: () => void add([{ service: "shop", resource: "{}", spans: [span] }], 1000),
        read: () => list(all),
        dispose,
      };
    },
  },
  "limits by windows": {
    file: "limits.db",
    worksInMemory: true,
    open(options) {
      const store = createWindowStore(options);
      return {
        write: () => store.save([{ subject: "key", name: "perhour", used: 7, endsInMs: 3_600_000 }]),
        read: () => store.load().map(({ used }) => used),
        dispose: store.dispose,
      };
    },
  },
};
