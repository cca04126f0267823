import type { CheckLevel, CheckStatus, Severity } from "#contract/checks.ts";

export const levelOf = (status: CheckStatus): CheckLevel => (status === "skip" ? "pass" : status);

/**
 * The state of a check in the words of Nagios: a new status is soft until it has been seen in `attempts` runs in a row, then
 * hard. A problem that becomes another one, and a check that passes again, are hard at once.
 */
export interface HardState {
  /** The last hard state. */
  readonly hard: CheckLevel;
  /** Runs in a row with what is not hard yet; 0 when there is nothing of the kind. */
  readonly attempt: number;
}

export const passing: HardState = { hard: "pass", attempt: 0 };

/** Until a problem counts, unless settings or the check say otherwise. */
const defaultAttempts = 3;
/** What is looked at less often than this does not flap within minutes, and hours would pass until it counted. */
const seldomMs = 5 * 60_000;

/** How many runs in a row make a status hard. */
export function attemptsFor(
  check: { readonly severity: Severity; readonly intervalMs: number; readonly attempts: number | undefined },
  status: CheckStatus,
  usual: number = defaultAttempts,
): number {
  if (check.attempts !== undefined) return check.attempts;
  if (status === "fail" && check.severity === "critical") return 1;
  return check.intervalMs > seldomMs ? 1 : usual;
}

/**
 * Takes a run. A problem that is skipped from then on is over once that is hard: its subject is gone.
 * @param isRepeated whether it follows another so soon, because somebody asked, that both are one attempt.
 */
export function hardened(state: HardState, status: CheckStatus, attempts: number, isRepeated = false): HardState {
  const { hard, attempt } = state;
  const level = levelOf(status);
  if (level === hard) return { hard, attempt: 0 };
  const isAtOnce = status === "pass" || (hard !== "pass" && level !== "pass");
  if (isAtOnce) return { hard: level, attempt: 0 };
  if (isRepeated && attempt > 0) return state;
  return attempt + 1 >= attempts ? { hard: level, attempt: 0 } : { hard, attempt: attempt + 1 };
}

/**
 * The state of a check that an earlier process has left in a status, from how long it had been in it: of a soft one the runs so
 * far are not known.
 */
export function restored(status: CheckStatus, heldMs: number, intervalMs: number, attempts: number): HardState {
  const level = levelOf(status);
  const isHard = level === "pass" || heldMs >= (attempts - 1) * intervalMs;
  return isHard ? { hard: level, attempt: 0 } : { hard: "pass", attempt: 1 };
}

interface Entry {
  readonly status: CheckStatus;
  /** Epoch milliseconds. */
  readonly checkedAt: number;
}

/**
 * The state of a check that an earlier process has left skipped: the problem that it had before, until it has been skipped often enough.
 * @param transitions oldest first, up to the first of those runs.
 * @param skips how often it has been skipped in a row.
 */
export function restoredSkipped(
  transitions: readonly Entry[],
  skips: number,
  intervalMs: number,
  attempts: (status: CheckStatus) => number,
): HardState {
  const end = transitions.findLastIndex(({ status }) => status !== "skip");
  const last = transitions[end];
  if (last === undefined || last.status === "pass" || skips >= attempts("skip")) return passing;
  const begin = transitions.findLastIndex(({ status }, at) => at < end && levelOf(status) === "pass") + 1;
  const heldMs = (transitions[end + 1]?.checkedAt ?? 0) - (transitions[begin]?.checkedAt ?? 0);
  const runs = Math.max(1, Math.round(heldMs / intervalMs));
  return runs >= attempts(last.status) ? { hard: levelOf(last.status), attempt: Math.max(1, skips) } : passing;
}
