import type { Tracked } from "#domain/ports/alerts.ts";
import { type AlertCondition, alertRouting } from "./conditions.ts";

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

function news({ isFiring, isToldFiring, sinceToldMs }: Tracked, isSilenced: boolean): AlertTelling | undefined {
  if (isSilenced) return undefined;
  if (!isFiring) return isToldFiring ? "resolved" : undefined;
  if (!isToldFiring) return "firing";
  return sinceToldMs >= alertRouting.repeatIntervalMs ? "repeated" : undefined;
}

function flushed(tracked: Tracked, isSilenced: boolean): Evaluation {
  const tell = news(tracked, isSilenced);
  const looked: Tracked = { ...tracked, groupMs: 0, isFirstWait: false };
  const told: Tracked = tell === undefined ? looked : { ...looked, isToldFiring: tell !== "resolved", sinceToldMs: 0 };
  const isOver = !told.isFiring && !told.isToldFiring;
  const next = isOver ? { ...quietAlert, heldMs: told.heldMs } : told;
  return { tracked: next, ...(tell !== undefined && { tell }) };
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
  const tracked: Tracked = { ...judgedNow, sinceToldMs: judgedNow.sinceToldMs + elapsedMs };
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
    sinceToldMs: tracked.sinceToldMs + awayMs,
    groupMs: groupMs === null ? null : groupMs + awayMs,
  };
}
