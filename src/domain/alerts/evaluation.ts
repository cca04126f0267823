import type { Tracked } from "#domain/ports/alerts.ts";
import { type AlertCondition, alertRouting } from "./conditions.ts";

export type AlertNotifier = "firing" | "repeated" | "resolved";

export interface Evaluation {
  readonly tracked: Tracked;
  readonly notify?: AlertNotifier;
}

export const quietAlert: Tracked = {
  heldMs: null,
  isFiring: false,
  isNotifiedFiring: false,
  sinceNotifiedMs: 0,
  groupMs: null,
  isFirstWait: false,
};

export const isQuiet = ({ heldMs, groupMs }: Tracked): boolean => heldMs === null && groupMs === null;

/** Longer intervals between two evaluations count only this much: the process or the machine was stopped. */
const longestLookMs = 60_000;

type Rule = Pick<AlertCondition, "threshold" | "durationMs">;

/** Pending or firing by the measured value; unchanged without one. */
function judged(tracked: Tracked, rule: Rule, value: number | undefined, elapsedMs: number): Tracked {
  if (value === undefined) return tracked;
  if (value <= rule.threshold) return { ...tracked, heldMs: null, isFiring: false };
  const sureMs = tracked.isFiring ? elapsedMs : Math.min(elapsedMs, longestLookMs);
  const heldMs = tracked.heldMs === null ? 0 : tracked.heldMs + sureMs;
  return { ...tracked, heldMs, isFiring: tracked.isFiring || heldMs >= rule.durationMs };
}

function event(
  { isFiring, isNotifiedFiring, sinceNotifiedMs }: Tracked,
  isSilenced: boolean,
): AlertNotifier | undefined {
  if (isSilenced) return undefined;
  if (!isFiring) return isNotifiedFiring ? "resolved" : undefined;
  if (!isNotifiedFiring) return "firing";
  return sinceNotifiedMs >= alertRouting.repeatIntervalMs ? "repeated" : undefined;
}

function flushed(tracked: Tracked, isSilenced: boolean): Evaluation {
  const notify = event(tracked, isSilenced);
  const looked: Tracked = { ...tracked, groupMs: 0, isFirstWait: false };
  const notified: Tracked =
    notify === undefined ? looked : { ...looked, isNotifiedFiring: notify !== "resolved", sinceNotifiedMs: 0 };
  const isOver = !notified.isFiring && !notified.isNotifiedFiring;
  const next = isOver ? { ...quietAlert, heldMs: notified.heldMs } : notified;
  return { tracked: next, ...(notify !== undefined && { notify }) };
}

/**
 * Evaluates one alert, and notifies as Alertmanager does: after a first wait, then at most once an interval on a change, and
 * repeatedly while it fires.
 */
export function evaluated(
  before: Tracked,
  rule: Rule,
  input: { readonly value: number | undefined; readonly elapsedMs: number; readonly isSilenced: boolean },
): Evaluation {
  const { value, elapsedMs, isSilenced } = input;
  const judgedNow = judged(before, rule, value, elapsedMs);
  const tracked: Tracked = { ...judgedNow, sinceNotifiedMs: judgedNow.sinceNotifiedMs + elapsedMs };
  if (tracked.groupMs === null) {
    return { tracked: tracked.isFiring ? { ...tracked, groupMs: 0, isFirstWait: true } : tracked };
  }
  const aged: Tracked = { ...tracked, groupMs: tracked.groupMs + elapsedMs };
  const waitMs = aged.isFirstWait ? alertRouting.groupWaitMs : alertRouting.groupIntervalMs;
  return (aged.groupMs ?? 0) >= waitMs ? flushed(aged, isSilenced) : { tracked: aged };
}

/**
 * Restores a state after a time without evaluation. As with Prometheus this time does not count as held: a machine that was busy
 * before a restart, and is busy while it starts, was not so for minutes.
 */
export function resumed(tracked: Tracked, awayMs: number, toleratedMs: number): Tracked {
  const { heldMs, groupMs } = tracked;
  // After so long it is unknown whether the condition held. A firing alert is not resolved for that.
  const isStale = awayMs > toleratedMs && !tracked.isFiring;
  const grown = heldMs === null || !tracked.isFiring ? heldMs : heldMs + awayMs;
  return {
    ...tracked,
    heldMs: isStale ? null : grown,
    sinceNotifiedMs: tracked.sinceNotifiedMs + awayMs,
    groupMs: groupMs === null ? null : groupMs + awayMs,
  };
}
