import type { CheckStatus, HealthCheckResult, HealthCheckSummary, Severity } from "#contract/checks.ts";
import type { HealthStatus } from "#contract/health.ts";
import type { StoredState } from "#domain/ports/check-history.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Check } from "./check.ts";
import type { CheckFinding } from "./check-run.ts";
import { attemptsFor, type HardState, hardened, noProblem, restored, restoredSkipped } from "./grading.ts";
import type { RunHistory } from "./history/history.ts";
import { figuresOf } from "./history/series.ts";

const pruneIntervalMs = 60 * 60 * 1000;
/** Runs that follow one another faster, because somebody asks, are one attempt. */
const longestSpacingMs = 30_000;

/** What a check is judged by beside its status. */
export interface Judged {
  readonly id: string;
  readonly severity: Severity;
  readonly intervalMs: number;
  /** Of the settings. */
  readonly attempts: number | undefined;
}

interface Hardness extends HardState {
  readonly attempts: number;
}

/** Of the newest transitions the state before a restart is made. */
const transitionsRead = 20;

const unknown = { ...noProblem, countedAtMs: Number.NEGATIVE_INFINITY };

/** What runs need of the history. */
export type HistoryOfRuns = Pick<
  RunHistory,
  "record" | "state" | "recentRuns" | "transitions" | "suspend" | "flush" | "forget"
>;

export type CheckStates = ReturnType<typeof createCheckStates>;

/**
 * The status of each check and since when, kept over restarts in the history, and the verdict of all.
 * @param ports.onTrouble called once when the history starts to fail.
 */
export function createCheckStates(ports: {
  readonly history: HistoryOfRuns;
  readonly clock: Clock;
  readonly onTrouble: (error: unknown) => void;
  /** Runs in a row until a problem is hard, where a check has no number of its own. */
  readonly attempts?: number | undefined;
}) {
  const { history, clock, onTrouble, attempts: usualAttempts } = ports;
  const states = new Map<string, StoredState>();
  const hardStates = new Map<string, HardState & { readonly countedAtMs: number }>();
  let verdict: HealthStatus["status"] = "healthy";
  let isStarting = true;
  let isHistoryUsable = true;
  let prunedAtMs = Number.NEGATIVE_INFINITY;

  /** A full disk or a damaged file must neither fail a run nor flood the log. */
  const withHistory = <T>(work: () => T): T | undefined => {
    try {
      const value = work();
      isHistoryUsable = true;
      return value;
    } catch (error) {
      if (isHistoryUsable) onTrouble(error);
      isHistoryUsable = false;
      return undefined;
    }
  };

  const restoredHard = (check: Judged, { status, since }: StoredState): HardState => {
    const { id, intervalMs } = check;
    const attempts = (of: CheckStatus) => attemptsFor(check, of, usualAttempts);
    if (status !== "skip") return restored(status, clock.now() - since, intervalMs, attempts(status));
    const runs = withHistory(() => history.recentRuns(id, since, attempts(status)).runs) ?? [];
    const transitions = withHistory(() => history.transitions(id, 0, transitionsRead).runs) ?? [];
    return restoredSkipped(transitions, runs.length, intervalMs, attempts);
  };

  return {
    status: (id: string): CheckStatus | undefined => states.get(id)?.status,
    /** The state that a finding leads to, without saving it. */
    next(id: string, { status, checkedAt }: CheckFinding): StoredState {
      const before = states.get(id);
      return {
        status,
        since: before?.status === status ? before.since : checkedAt,
        consecutiveFailures: status === "fail" ? (before?.consecutiveFailures ?? 0) + 1 : 0,
      };
    },
    /** The hard state that a run leads to, without saving it. */
    nextHard(check: Judged, status: CheckStatus): Hardness {
      const attempts = attemptsFor(check, status, usualAttempts);
      const before = hardStates.get(check.id) ?? unknown;
      const spacingMs = Math.min(longestSpacingMs, check.intervalMs / 2);
      const isRepeated = clock.monotonicMs() - before.countedAtMs < spacingMs;
      return { ...hardened(before, status, attempts, isRepeated), attempts };
    },
    save(id: string, found: CheckFinding, state: StoredState, { hard, attempt }: HardState): void {
      const { checkedAt, status, message, durationMs, details } = found;
      states.set(id, state);
      const { countedAtMs, ...before } = hardStates.get(id) ?? unknown;
      const isSame = before.hard === hard && before.attempt === attempt;
      hardStates.set(id, { hard, attempt, countedAtMs: isSame ? countedAtMs : clock.monotonicMs() });
      withHistory(() => history.record(id, { checkedAt, status, message, durationMs }, state, figuresOf(details)));
    },
    restore(check: Judged): void {
      const { id } = check;
      const stored = withHistory(() => history.state(id));
      if (stored === undefined) return;
      states.set(id, stored);
      hardStates.set(id, { ...unknown, ...restoredHard(check, stored) });
    },
    remove(id: string): void {
      states.delete(id);
      hardStates.delete(id);
      withHistory(() => history.suspend(id, clock.now()));
    },
    judge(checks: readonly { readonly check: Pick<Check, "id" | "severity"> }[]): void {
      const known = checks.flatMap(({ check: { id, severity } }) => {
        const state = states.get(id);
        return state === undefined ? [] : [{ status: state.status, severity }];
      });
      verdict = verdictOf(known);
      isStarting = known.length < checks.length;
    },
    verdict: (): HealthStatus["status"] => verdict,
    isStarting: (): boolean => isStarting,
    prune(): void {
      const nowMs = clock.monotonicMs();
      if (nowMs - prunedAtMs < pruneIntervalMs) return;
      prunedAtMs = nowMs;
      withHistory(() => history.forget(clock.now()));
    },
    /** Writes what the history holds back, and that the service runs. */
    flush(): void {
      withHistory(() => history.flush(clock.now()));
    },
  };
}

type Verdict = HealthStatus["status"];

const counters = { pass: "passed", warn: "warned", fail: "failed", skip: "skipped" } as const;

export function summarize(results: readonly Pick<HealthCheckResult, "status" | "duration_ms">[]): HealthCheckSummary {
  const summary = { total: results.length, passed: 0, warned: 0, failed: 0, skipped: 0, duration_ms: 0 };
  for (const { status, duration_ms: durationMs } of results) {
    summary[counters[status]] += 1;
    summary.duration_ms += durationMs;
  }
  return summary;
}

function verdictOf(results: Iterable<{ readonly status: CheckStatus; readonly severity: Severity }>): Verdict {
  let verdict: Verdict = "healthy";
  for (const { status, severity } of results) {
    if (status === "fail" && severity === "critical") return "unhealthy";
    if (status === "fail" || status === "warn") verdict = "degraded";
  }
  return verdict;
}
