import type { Clock, Dispose } from "#domain/kernel/clock.ts";
import { auditEvent } from "./entry.ts";
import type { AuditEntry, AuditLog } from "./ports.ts";

/** Name of the entries that stand for refused calls which belong to no operation, or of which there are many. */
export const callsRefused = "calls.refused";

const lookEveryMs = 60_000;
/** How long those are counted who do not stop: twice as long each time. */
const longestWindowMs = 64 * 60_000;
/** Who is counted apart from others. */
const maxWindows = 200;
/** Entries that newcomers may cause at once, and in each minute from then on. */
const burst = 100;
const refill = 10;

interface Window {
  readonly first: AuditEntry;
  /** Refused calls since the last entry. */
  count: number;
  since: string;
  until: string;
  lengthMs: number;
  endsAtMs: number;
}

export interface Refusals {
  /** Takes down a call that was refused. `who` is a key or an address: what calls are counted by. */
  readonly refused: (who: string, entry: AuditEntry) => void;
  /** Writes what was counted. */
  readonly dispose: Dispose;
}

/**
 * Refused calls cost their callers nothing, so they must not fill the log: the first of somebody with one reason is written at
 * once, what follows is counted and written in one entry for each window. Newcomers beyond a budget are counted together.
 */
export function createRefusals({ log, clock }: { log: Pick<AuditLog, "record">; clock: Clock }): Refusals {
  const windows = new Map<string, Window>();
  let budget = burst;

  const open = (key: string, entry: AuditEntry, now: number): Window => {
    const since = entry.time;
    const window = { first: entry, count: 0, since, until: since, lengthMs: lookEveryMs, endsAtMs: now + lookEveryMs };
    windows.set(key, window);
    return window;
  };

  const add = (window: Window, { time }: AuditEntry): void => {
    if (window.count === 0) window.since = time;
    window.count += 1;
    window.until = time;
  };

  const write = ({ first, count, since, until }: Window): void => {
    const { outcome, status, error, target, key_id, key_name, certificate, remote_address } = first;
    const told = { ...target, since, until };
    const who = { key_id, key_name, certificate, remote_address };
    log.record(auditEvent(callsRefused, clock.now(), { outcome, status, error, target: told, ...who, count }));
  };

  const look = (isLast: boolean): void => {
    const now = clock.monotonicMs();
    budget = Math.min(burst, budget + refill);
    for (const [key, window] of windows) {
      if (!isLast && now < window.endsAtMs) continue;
      if (window.count === 0) {
        windows.delete(key);
        continue;
      }
      write(window);
      window.count = 0;
      window.lengthMs = Math.min(longestWindowMs, window.lengthMs * 2);
      window.endsAtMs = now + window.lengthMs;
    }
  };

  const stop = clock.every(lookEveryMs, () => look(false));
  return {
    refused(who, entry) {
      const now = clock.monotonicMs();
      const { field = "" } = entry.target;
      const reason = `${entry.error} ${field}`;
      const known = windows.get(`${reason} ${who}`);
      if (known !== undefined) return add(known, entry);
      if (budget >= 1 && windows.size < maxWindows) {
        budget -= 1;
        log.record(entry);
        open(`${reason} ${who}`, entry, now);
        return;
      }
      const crowd = windows.get(reason);
      // Nobody of the many stands for the others.
      const nobody = { key_id: null, key_name: null, certificate: null, remote_address: null };
      add(crowd ?? open(reason, { ...entry, ...nobody, target: { ...entry.target, callers: "many" } }, now), entry);
    },
    dispose() {
      stop();
      look(true);
    },
  };
}
