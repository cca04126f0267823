import type { Clock } from "#kernel/clock.ts";
import {
  type Condition,
  type HostCondition,
  type Removal,
  type Worsening,
  watchedUnitsOf,
  worseThan,
} from "./condition.ts";

const lookIntervalMs = 15_000;
/** Daemons that were restarted come up meanwhile. */
const settleMs = 10_000;
/** How long a shortage, or a unit that is starting, has to last before it counts. */
const lastingMs = 120_000;

/** Further looks after the end of the time while problems come and go. */
const lateLooks = 4;

/** How long a host is watched. */
export interface GuardTimes {
  readonly guardMs: number;
  /** Sufficient where no look finds anything worse. */
  readonly enoughMs: number;
}

const usualTimes: GuardTimes = { guardMs: 5 * 60_000, enoughMs: 90_000 };

/** A configured time is used in full. */
export const guardTimesOf = (minutes: number | undefined): GuardTimes =>
  minutes === undefined ? usualTimes : { guardMs: minutes * 60_000, enoughMs: minutes * 60_000 };

/** After a rollback: whether that was enough shows sooner. */
export const timesAfterRollback = ({ guardMs, enoughMs }: GuardTimes): GuardTimes => ({
  guardMs: Math.min(guardMs, 60_000),
  enoughMs: Math.min(enoughMs, 30_000),
});

export interface Watch extends GuardTimes {
  readonly before: Condition;
  readonly removal: Removal;
  /** Called before the first look and after each one that does not decide, with what the watch takes if nothing gets worse. */
  readonly onTimeLeft?: (leftMs: number) => void;
}

/**
 * Watches the host after a change. A host that cannot be inspected counts as worse.
 * @returns what is worse in two consecutive looks, or has lasted where it has to, as soon as there is any; nothing when the time is
 * over, or after `enoughMs` without problems.
 */
export async function watchAfter(
  { before, removal, guardMs, enoughMs, onTimeLeft }: Watch,
  ports: { readonly condition: HostCondition; readonly clock: Pick<Clock, "monotonicMs" | "sleep"> },
  signal: AbortSignal,
): Promise<readonly Worsening[]> {
  const { condition, clock } = ports;
  const startedAtMs = clock.monotonicMs();
  const mustLastMs = Math.min(lastingMs, guardMs);
  const known = watchedUnitsOf(before);
  let wasWorse = false;
  let late = 0;
  /** Since when each problem has been there in every look. */
  let since: ReadonlyMap<string, number> = new Map();
  const look = async (): Promise<readonly Worsening[]> => {
    try {
      return worseThan(before, await condition.look(known, signal), removal);
    } catch {
      signal.throwIfAborted();
      return [{ key: "host", text: "the host cannot be inspected", mustLast: false }];
    }
  };
  /** Starts what has ended since nobody needed it. One that does not start is worse in the next look, too. */
  const startEnded = async (found: readonly Worsening[]): Promise<void> => {
    for (const { key, unit, mayHaveEnded } of found) {
      if (unit === undefined || mayHaveEnded !== true || since.has(key)) continue;
      await condition.restart(unit, signal).catch(() => signal.throwIfAborted());
    }
  };
  onTimeLeft?.(enoughMs);
  await clock.sleep(Math.min(settleMs, guardMs / 3), signal);
  for (;;) {
    signal.throwIfAborted();
    const worse = await look();
    const nowMs = clock.monotonicMs();
    // A service that is restarting looks bad briefly.
    const decided = worse.filter(({ key, mustLast }) => {
      const firstMs = since.get(key);
      return firstMs !== undefined && (!mustLast || nowMs - firstMs >= mustLastMs);
    });
    if (decided.length > 0) return decided;
    await startEnded(worse);
    since = new Map(worse.map(({ key }) => [key, since.get(key) ?? nowMs]));
    wasWorse ||= worse.some(({ mayHaveEnded }) => mayHaveEnded !== true);
    const leftMs = startedAtMs + (wasWorse ? guardMs : enoughMs) - nowMs;
    if (leftMs <= 0) {
      late += 1;
      const atOnce = worse.filter(({ mustLast }) => !mustLast);
      const isLasting = worse.length > atOnce.length && nowMs - startedAtMs < guardMs + mustLastMs;
      if (worse.length === 0 || (late > lateLooks && !isLasting)) return atOnce;
    }
    onTimeLeft?.(Math.max(0, leftMs));
    await clock.sleep(
      leftMs <= 0 ? Math.min(lookIntervalMs, mustLastMs / 4) : Math.min(lookIntervalMs, leftMs),
      signal,
    );
  }
}
