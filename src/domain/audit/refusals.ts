import type { AuditEntry, AuditLog } from "#domain/ports/audit.ts";
import type { Clock } from "#kernel/clock.ts";
import { auditEvent } from "./entry.ts";

/** Operation of entries for refused calls without an operation, or for many of them. */
export const callsRefused = "calls.refused";

const lookEveryMs = 60_000;
const longestWindowMs = 64 * 60_000;
const maxWindows = 200;
/** Entries of new callers at once, and then in each minute. */
const burst = 100;
const refill = 10;

type Reported = Pick<
  AuditEntry,
  "outcome" | "status" | "error" | "target" | "key_id" | "key_name" | "certificate" | "remote_address"
>;

interface Window {
  count: number;
  /** What the counted calls have in common. */
  reported: Reported | undefined;
  since: string;
  until: string;
  lengthMs: number;
  endsAtMs: number;
}

const shared = (one: string | null, other: string | null): string | null => (one === other ? one : null);

/** Keeps only what both share: nobody is named for a call of another. */
const inCommon = (one: Reported, other: Reported): Reported => ({
  ...one,
  target: Object.fromEntries(Object.entries(one.target).filter(([name, value]) => other.target[name] === value)),
  key_id: shared(one.key_id, other.key_id),
  key_name: shared(one.key_name, other.key_name),
  certificate: shared(one.certificate, other.certificate),
  remote_address: shared(one.remote_address, other.remote_address),
});

export type Refusals = ReturnType<typeof createRefusals>;

/**
 * Keeps refused calls, which cost their callers nothing, from filling the log: the first of a caller with one reason is recorded at
 * once, the following are counted in one entry per window. New callers beyond a budget are counted together.
 */
export function createRefusals({ log, clock }: { log: Pick<AuditLog, "record">; clock: Clock }) {
  const windows = new Map<string, Window>();
  let budget = burst;

  const open = (key: string, since: string, now: number): Window => {
    const endsAtMs = now + lookEveryMs;
    const window = { count: 0, reported: undefined, since, until: since, lengthMs: lookEveryMs, endsAtMs };
    windows.set(key, window);
    return window;
  };

  const add = (window: Window, entry: AuditEntry): void => {
    if (window.count === 0) window.since = entry.time;
    window.count += 1;
    window.until = entry.time;
    window.reported = window.reported === undefined ? entry : inCommon(window.reported, entry);
  };

  const write = (window: Window, reported: Reported): void => {
    const { count, since, until } = window;
    const { outcome, status, error, key_id, key_name, certificate, remote_address } = reported;
    const target = { ...reported.target, since, until };
    const who = { key_id, key_name, certificate, remote_address };
    log.record(auditEvent(callsRefused, clock.now(), { outcome, status, error, ...who, target, count }));
    window.count = 0;
    window.reported = undefined;
  };

  const look = (isLast: boolean): void => {
    const now = clock.monotonicMs();
    budget = Math.min(burst, budget + refill);
    for (const [key, window] of windows) {
      if (!isLast && now < window.endsAtMs) continue;
      if (window.reported === undefined) {
        windows.delete(key);
        continue;
      }
      write(window, window.reported);
      window.lengthMs = Math.min(longestWindowMs, window.lengthMs * 2);
      window.endsAtMs = now + window.lengthMs;
    }
  };

  const stop = clock.every(lookEveryMs, () => look(false));
  return {
    /** @param who is counted separately: an address with its key. */
    refused: (who: string, entry: AuditEntry) => {
      const now = clock.monotonicMs();
      const { field = "" } = entry.target;
      const reason = `${entry.error} ${field}`;
      const known = windows.get(`${reason} ${who}`);
      if (known !== undefined) return add(known, entry);
      if (budget >= 1 && windows.size < maxWindows) {
        budget -= 1;
        log.record(entry);
        open(`${reason} ${who}`, entry.time, now);
        return;
      }
      const crowd = windows.get(reason) ?? open(reason, entry.time, now);
      // One address would stand for all others; a key that all used is worth knowing.
      add(crowd, { ...entry, remote_address: null, target: { ...entry.target, callers: "many" } });
    },
    dispose: (): void => {
      stop();
      look(true);
    },
  };
}
