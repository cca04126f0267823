import type { Tracked } from "#domain/ports/alerts.ts";
import type { AlertCondition } from "./conditions.ts";
import { alertRouting } from "./conditions.ts";

export type AlertTelling = "firing" | "repeated" | "resolved";

export interface Evaluation {
  readonly tracked: Tracked;
  readonly tell?: AlertTelling;
}

export const quietAlert: Tracked = {
  heldMs: null,
  isFiring: false,
  isToldFiring: false,
  sinceToldMs: 0,
  groupMs: null,
  isFirstWait: false,
};

/** Whether nothing has to be remembered of it. */
export const isQuiet = ({ heldMs, groupMs }: Tracked): boolean => heldMs === null && groupMs === null;

/** A longer time between two looks is one in which nobody knows: a process that was stopped, a machine that stood still. */
const longestLookMs = 60_000;

type Rule = Pick<AlertCondition, "threshold" | "durationMs">;

/** Pending or firing by what was measured. @param value undefined where it cannot be: everything stays as it is. */
function judged(tracked: Tracked, rule: Rule, value: number | undefined, elapsedMs: number): Tracked {
  if (value === undefined) return tracked;
  if (value <= rule.threshold) return { ...tracked, heldMs: null, isFiring: false };
  const sureMs = tracked.isFiring ? elapsedMs : Math.min(elapsedMs, longestLookMs);
  const heldMs = tracked.heldMs === null ? 0 : tracked.heldMs + sureMs;
  return { ...tracked, heldMs, isFiring: tracked.isFiring || heldMs >= rule.durationMs };
}

/** What a group has to say when it is looked through. */
function news({ isFiring, isToldFiring, sinceToldMs }: Tracked, isSilenced: boolean): AlertTelling | undefined {
  if (isSilenced) return undefined;
  if (!isFiring) return isToldFiring ? "resolved" : undefined;
  if (!isToldFiring) return "firing";
  return sinceToldMs >= alertRouting.repeatIntervalMs ? "repeated" : undefined;
}

/** Looks through the group: says what there is to say, and ends it where nothing is left to be told. */
function flushed(tracked: Tracked, isSilenced: boolean): Evaluation {
  const tell = news(tracked, isSilenced);
  const looked: Tracked = { ...tracked, groupMs: 0, isFirstWait: false };
  const told: Tracked = tell === undefined ? looked : { ...looked, isToldFiring: tell !== "resolved", sinceToldMs: 0 };
  const isOver = !told.isFiring && !told.isToldFiring;
  const next = isOver ? { ...quietAlert, heldMs: told.heldMs } : told;
  return { tracked: next, ...(tell !== undefined && { tell }) };
}

/**
 * One evaluation of one alert: whether it fires, and what people are told, as Alertmanager would: after a first wait, then at
 * most once an interval if something changed, and again while it goes on.
 */
export function evaluated(
  before: Tracked,
  rule: Rule,
  input: { readonly value: number | undefined; readonly elapsedMs: number; readonly isSilenced: boolean },
): Evaluation {
  const { value, elapsedMs, isSilenced } = input;
  const judgedNow = judged(before, rule, value, elapsedMs);
  const tracked: Tracked = { ...judgedNow, sinceToldMs: judgedNow.sinceToldMs + elapsedMs };
  if (tracked.groupMs === null) {
    return { tracked: tracked.isFiring ? { ...tracked, groupMs: 0, isFirstWait: true } : tracked };
  }
  const aged: Tracked = { ...tracked, groupMs: tracked.groupMs + elapsedMs };
  const waitMs = aged.isFirstWait ? alertRouting.groupWaitMs : alertRouting.groupIntervalMs;
  return (aged.groupMs ?? 0) >= waitMs ? flushed(aged, isSilenced) : { tracked: aged };
}

/**
 * What has been remembered, after a time in which nobody looked. As with Prometheus that time is no part of how long a condition
 * has held: a machine that was busy before it was restarted, and is again while it starts, has not been so for minutes.
 */
export function resumed(tracked: Tracked, awayMs: number, toleratedMs: number): Tracked {
  const { heldMs, groupMs } = tracked;
  // After so long nobody knows whether a condition held all the time. One that fired is not told to be over for that.
  const isStale = awayMs > toleratedMs && !tracked.isFiring;
  const grown = heldMs === null || !tracked.isFiring ? heldMs : heldMs + awayMs;
  return {
    ...tracked,
    heldMs: isStale ? null : grown,
    sinceToldMs: tracked.sinceToldMs + awayMs,
    groupMs: groupMs === null ? null : groupMs + awayMs,
  };
}
