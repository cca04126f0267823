import type { AuditEntry, AuditLog } from "#domain/ports/audit.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { auditEvent } from "./entry.ts";

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

/** What one entry says of all the calls that it stands for. */
type Told = Pick<
  AuditEntry,
  "outcome" | "status" | "error" | "target" | "key_id" | "key_name" | "certificate" | "remote_address"
>;

interface Window {
  /** Refused calls since the last entry. */
  count: number;
  /** What those have in common; undefined when there are none. */
  told: Told | undefined;
  since: string;
  until: string;
  lengthMs: number;
  endsAtMs: number;
}

const shared = (one: string | null, other: string | null): string | null => (one === other ? one : null);

/** What holds for both: nobody is named for what somebody else did. */
const inCommon = (one: Told, other: Told): Told => ({
  ...one,
  target: Object.fromEntries(Object.entries(one.target).filter(([name, value]) => other.target[name] === value)),
  key_id: shared(one.key_id, other.key_id),
  key_name: shared(one.key_name, other.key_name),
  certificate: shared(one.certificate, other.certificate),
  remote_address: shared(one.remote_address, other.remote_address),
});

export interface Refusals {
  /** Takes down a call that was refused. `who` is what calls are counted by: an address, with the key that was used there. */
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

  const open = (key: string, since: string, now: number): Window => {
    const endsAtMs = now + lookEveryMs;
    const window = { count: 0, told: undefined, since, until: since, lengthMs: lookEveryMs, endsAtMs };
    windows.set(key, window);
    return window;
  };

  const add = (window: Window, entry: AuditEntry): void => {
    if (window.count === 0) window.since = entry.time;
    window.count += 1;
    window.until = entry.time;
    window.told = window.told === undefined ? entry : inCommon(window.told, entry);
  };

  const write = (window: Window, told: Told): void => {
    const { count, since, until } = window;
    const { outcome, status, error, key_id, key_name, certificate, remote_address } = told;
    const target = { ...told.target, since, until };
    const who = { key_id, key_name, certificate, remote_address };
    log.record(auditEvent(callsRefused, clock.now(), { outcome, status, error, ...who, target, count }));
    window.count = 0;
    window.told = undefined;
  };

  const look = (isLast: boolean): void => {
    const now = clock.monotonicMs();
    budget = Math.min(burst, budget + refill);
    for (const [key, window] of windows) {
      if (!isLast && now < window.endsAtMs) continue;
      if (window.told === undefined) {
        windows.delete(key);
        continue;
      }
      write(window, window.told);
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
        open(`${reason} ${who}`, entry.time, now);
        return;
      }
      const crowd = windows.get(reason) ?? open(reason, entry.time, now);
      // An address of the many would stand for the others; a key that all of them used is worth to know.
      add(crowd, { ...entry, remote_address: null, target: { ...entry.target, callers: "many" } });
    },
    dispose() {
      stop();
      look(true);
    },
  };
}
