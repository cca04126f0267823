import type { CheckStatus, HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import type { HealthStatus } from "#contract/health.ts";
import { checkHistoryKeptMs, checkIntervalMs, checkTimeoutMs, maxConcurrentChecks } from "#contract/limits.ts";
import type { Clock, Dispose } from "#domain/kernel/clock.ts";
import { toTimestamp } from "#domain/kernel/clock.ts";
import type { Check, CheckSettings } from "./check.ts";
import { createContainedRun, createSlots } from "./contained-run.ts";
import type { CheckHistory, StoredState } from "./ports.ts";
import { summarize, verdictOf } from "./summary.ts";

/** What settings say of all checks. */
export interface CheckPlan {
  readonly intervalMs?: number;
  readonly checks: Readonly<
    Record<
      string,
      Partial<CheckSettings> & {
        readonly isEnabled?: boolean;
        readonly intervalMs?: number;
        readonly timeoutMs?: number;
      }
    >
  >;
}

/** A run that has ended. */
export interface CheckRun {
  readonly result: HealthCheckResult;
  /** Status of the run before it; undefined for the first one ever. */
  readonly previousStatus: CheckStatus | undefined;
}

export interface CheckRunner {
  /** Ids of the checks that are switched on, in the order of the registry. */
  readonly ids: readonly string[];
  /** Runs what is older than its interval, and gives the results of all. */
  readonly list: () => Promise<HealthCheckList>;
  /** Runs one check; undefined where there is none of that id. Callers who come while it runs share the run. */
  readonly run: (id: string) => Promise<HealthCheckResult> | undefined;
  /** Runs one check anew: a run that is under way is waited for, and not shared. For after a change. */
  readonly rerun: (id: string) => Promise<HealthCheckResult> | undefined;
  /** Runs the checks that have never run. */
  readonly runMissing: () => Promise<void>;
  /** The overall status by the last results, made when one changes: asking costs nothing. */
  readonly verdict: () => HealthStatus["status"];
  /** Begins the regular runs. */
  readonly start: () => void;
  readonly dispose: Dispose;
}

/** How often it is looked which checks are due. */
const tickMs = 1_000;
/** The first runs are spread over this time, the later ones over the whole interval. */
const firstRoundMs = 10_000;
const forgetIntervalMs = 60 * 60 * 1000;

/** A check with what is known of it. */
interface Entry {
  readonly check: Check;
  readonly settings: CheckSettings;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  result: HealthCheckResult | undefined;
  /** When its last run ended, and when it is due for the next regular one, on the clock that never jumps. */
  endedAtMs: number;
  dueAtMs: number;
  /** A moment that it was due at, from which later ones are counted: its own place in the interval. */
  placeMs: number;
  inFlight: Promise<HealthCheckResult> | undefined;
}

function createEntry(check: Check, plan: CheckPlan): Entry {
  const { warn, fail, ignore = [], intervalMs, timeoutMs = checkTimeoutMs } = plan.checks[check.id] ?? {};
  return {
    check,
    settings: { ignore, ...(warn !== undefined && { warn }), ...(fail !== undefined && { fail }) },
    // Looked at once a second, so no interval is shorter.
    intervalMs: Math.max(tickMs, intervalMs ?? check.intervalMs ?? plan.intervalMs ?? checkIntervalMs),
    timeoutMs,
    result: undefined,
    endedAtMs: Number.NEGATIVE_INFINITY,
    dueAtMs: 0,
    placeMs: 0,
    inFlight: undefined,
  };
}

/** Which fix a result names, and whether it mends what was found. */
function fixOf(
  { fixes: [usual] = [] }: Pick<Check, "fixes">,
  status: CheckStatus,
  chosen: string | null | undefined,
): Pick<HealthCheckResult, "fixable" | "fix_id"> {
  const fixId = chosen === undefined ? usual : chosen;
  if (typeof fixId !== "string") return { fixable: false };
  return { fixable: status === "warn" || status === "fail", fix_id: fixId };
}

/**
 * Runs checks: when asked and at their intervals, at most four at once, each contained.
 * @param ports.onRun is told of every run that has ended.
 * @param ports.onTrouble is told when the history cannot be used, once until it can be again.
 */
export function createCheckRunner(ports: {
  readonly checks: readonly Check[];
  readonly settings: CheckPlan;
  readonly history: Pick<CheckHistory, "record" | "state" | "forget">;
  readonly clock: Clock;
  readonly onRun: (run: CheckRun) => void;
  readonly onTrouble: (error: unknown) => void;
}): CheckRunner {
  const { checks, settings: plan, history, clock, onRun, onTrouble } = ports;
  const shutdown = new AbortController();
  const inSlot = createSlots(maxConcurrentChecks);
  const contained = createContainedRun(clock, shutdown.signal);
  const entries = checks
    .filter(({ id }) => plan.checks[id]?.isEnabled !== false)
    .map((check) => createEntry(check, plan));
  const byId = new Map(entries.map((entry) => [entry.check.id, entry]));
  const states = new Map<string, StoredState>();
  let verdict: HealthStatus["status"] = "healthy";
  let isHistoryWell = true;
  let forgottenAtMs = Number.NEGATIVE_INFINITY;
  let stop: Dispose = () => undefined;

  /** The disk may be full or the file damaged: no run fails for that, and the log is not flooded either. */
  const withHistory = <T>(work: () => T): T | undefined => {
    try {
      const value = work();
      isHistoryWell = true;
      return value;
    } catch (error) {
      if (isHistoryWell) onTrouble(error);
      isHistoryWell = false;
      return undefined;
    }
  };

  const runEntry = async (entry: Entry): Promise<HealthCheckResult> => {
    const { check, settings, timeoutMs } = entry;
    const { id, name, category, severity } = check;
    const startedAtMs = clock.monotonicMs();
    const { status, message, details, fixId } = await contained(check, settings, timeoutMs);
    const checkedAt = clock.now();
    const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
    const before = states.get(id) ?? withHistory(() => history.state(id));
    const state: StoredState = {
      status,
      since: before?.status === status ? before.since : checkedAt,
      consecutiveFailures: status === "fail" ? (before?.consecutiveFailures ?? 0) + 1 : 0,
    };
    const result: HealthCheckResult = {
      check_id: id,
      name,
      status,
      message,
      details,
      duration_ms: durationMs,
      category,
      severity,
      checked_at: toTimestamp(checkedAt),
      ...fixOf(check, status, fixId),
      since: toTimestamp(state.since),
      consecutive_failures: state.consecutiveFailures,
    };
    // What is cut short by the end of the service says nothing about the host.
    if (shutdown.signal.aborted) return result;
    states.set(id, state);
    entry.result = result;
    entry.endedAtMs = clock.monotonicMs();
    verdict = verdictOf(entries.flatMap((each) => each.result ?? []));
    withHistory(() => history.record(id, { checkedAt, status, message, durationMs }, state));
    onRun({ result, previousStatus: before?.status });
    return result;
  };

  const start = (entry: Entry): Promise<HealthCheckResult> => {
    entry.inFlight ??= inSlot(() => runEntry(entry)).finally(() => {
      entry.inFlight = undefined;
    });
    return entry.inFlight;
  };

  const fresh = (entry: Entry): Promise<HealthCheckResult> => {
    const { result, endedAtMs, intervalMs } = entry;
    return result !== undefined && clock.monotonicMs() - endedAtMs < intervalMs
      ? Promise.resolve(result)
      : start(entry);
  };

  const tick = (): void => {
    const nowMs = clock.monotonicMs();
    for (const entry of entries) {
      if (nowMs < entry.dueAtMs) continue;
      const { intervalMs, placeMs } = entry;
      entry.dueAtMs = placeMs + Math.ceil((nowMs - placeMs + 1) / intervalMs) * intervalMs;
      // Somebody has just asked for it.
      if (nowMs - entry.endedAtMs < Math.min(2 * tickMs, intervalMs / 2)) continue;
      start(entry).catch(onTrouble);
    }
    if (nowMs - forgottenAtMs < forgetIntervalMs) return;
    forgottenAtMs = nowMs;
    withHistory(() => history.forget(clock.now() - checkHistoryKeptMs));
  };

  return {
    ids: entries.map(({ check }) => check.id),
    async list() {
      const startedAtMs = clock.monotonicMs();
      const results = await Promise.all(entries.map(fresh));
      return { summary: summarize(results, Math.round(clock.monotonicMs() - startedAtMs)), results };
    },
    run(id) {
      const entry = byId.get(id);
      return entry && start(entry);
    },
    rerun(id) {
      const entry = byId.get(id);
      if (entry === undefined) return undefined;
      return entry.inFlight === undefined ? start(entry) : entry.inFlight.then(() => start(entry));
    },
    async runMissing() {
      await Promise.all(entries.filter(({ result }) => result === undefined).map(start));
    },
    verdict: () => verdict,
    start() {
      const nowMs = clock.monotonicMs();
      for (const [at, entry] of entries.entries()) {
        const share = at / entries.length;
        entry.dueAtMs = nowMs + share * Math.min(firstRoundMs, entry.intervalMs / 2);
        entry.placeMs = nowMs + share * entry.intervalMs;
      }
      stop = clock.every(tickMs, tick);
    },
    dispose() {
      stop();
      shutdown.abort();
    },
  };
}
