import type { CheckStatus, HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import type { HealthStatus } from "#contract/health.ts";
import { checkHistoryKeptMs, checkIntervalMs, checkTimeoutMs, maxConcurrentChecks } from "#contract/limits.ts";
import type { Hooks, Veto } from "#domain/common/hooks.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { toTimestamp } from "#kernel/clock.ts";
import { createSlots } from "#kernel/slots.ts";
import type { Check, CheckSettings, Outcome } from "./check.ts";
import { createContainedRun } from "./contained-run.ts";
import type { Fixability } from "./fixability.ts";
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
  /** Ids of the checks that there are now and that are switched on: in the order of the registry, those added later behind it. */
  readonly ids: readonly string[];
  /** The check of an id, where it is switched on. */
  readonly find: (id: string) => Check | undefined;
  /** Adds a check and runs it, unless settings switch it off. Disposing takes it away with all but its history. */
  readonly add: (check: Check) => Dispose;
  /** Runs what is older than its interval, and gives the results of all. */
  readonly list: () => Promise<HealthCheckList>;
  /** Runs one check; undefined where there is none of that id. Callers who come while it runs share the run. */
  readonly run: (id: string) => Promise<HealthCheckResult> | undefined;
  /** The last result of one check while it is younger than its interval, else a run; undefined where there is none of that id. */
  readonly current: (id: string) => Promise<HealthCheckResult> | undefined;
  /** Runs one check anew: a run that is under way is waited for, and not shared. For before and after a change. */
  readonly rerun: (id: string) => Promise<HealthCheckResult> | undefined;
  /** Runs the checks that have never run. */
  readonly runMissing: () => Promise<void>;
  /**
   * The overall status by the last results, made when one changes: asking costs nothing. Until a check has run, its last run
   * before the start counts.
   */
  readonly verdict: () => HealthStatus["status"];
  /** Whether there is a check that has never run, so that the verdict does not have all of them yet. */
  readonly isStarting: () => boolean;
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
  const { warn, fail, ignore = [], intervalMs, timeoutMs } = plan.checks[check.id] ?? {};
  return {
    check,
    settings: { ignore, ...(warn !== undefined && { warn }), ...(fail !== undefined && { fail }) },
    // Looked at once a second, so no interval is shorter.
    intervalMs: Math.max(tickMs, intervalMs ?? check.intervalMs ?? plan.intervalMs ?? checkIntervalMs),
    timeoutMs: (timeoutMs ?? check.timeoutMs ?? checkTimeoutMs) + (check.graceMs ?? 0),
    result: undefined,
    endedAtMs: Number.NEGATIVE_INFINITY,
    dueAtMs: 0,
    placeMs: 0,
    inFlight: undefined,
  };
}

/** Which fix a result names. */
const fixIdOf = ({ fixes: [usual] = [] }: Pick<Check, "fixes">, { fixId }: Outcome): string | undefined =>
  (fixId === undefined ? usual : fixId) ?? undefined;

/** What is said of a check that was not run. */
const heldBack = ({ hook, reason }: Veto): Outcome => ({
  status: "skip",
  message: `held back by ${hook}: ${reason}`,
  details: { held_back_by: hook, reason },
});

/**
 * Runs checks: when asked and at their intervals, at most four at once, each contained.
 * @param ports.onRun is told of every run that has ended.
 * @param ports.onGone is told of a check that is there no more.
 * @param ports.hooks may hold runs back.
 * @param ports.fixability says whether the fix of a check can do anything about what it found; without it every fix can.
 * @param ports.onTrouble is told when the history cannot be used, once until it can be again.
 */
export function createCheckRunner(ports: {
  readonly checks: readonly Check[];
  readonly settings: CheckPlan;
  readonly history: Pick<CheckHistory, "record" | "state" | "forget">;
  readonly clock: Clock;
  readonly onRun: (run: CheckRun) => void;
  readonly onGone?: (id: string) => void;
  readonly hooks?: Pick<Hooks, "names" | "ask">;
  readonly fixability?: Fixability;
  readonly onTrouble: (error: unknown) => void;
}): CheckRunner {
  const { checks, settings: plan, history, clock, onRun, onGone, hooks, fixability, onTrouble } = ports;
  const shutdown = new AbortController();
  const inSlot = createSlots(maxConcurrentChecks);
  const contained = createContainedRun(clock, shutdown.signal);
  const isOn = ({ id }: Check): boolean => plan.checks[id]?.isEnabled !== false;
  const fixed = checks.filter(isOn).map((check) => createEntry(check, plan));
  let entries = fixed;
  const byId = new Map(entries.map((entry) => [entry.check.id, entry]));
  const states = new Map<string, StoredState>();
  let verdict: HealthStatus["status"] = "healthy";
  let isStarting = true;
  let isHistoryWell = true;
  let forgottenAtMs = Number.NEGATIVE_INFINITY;
  let stop: Dispose | undefined;

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

  const judgeAll = (): void => {
    const known = entries.flatMap(({ check: { id, severity } }) => {
      const state = states.get(id);
      return state === undefined ? [] : [{ status: state.status, severity }];
    });
    verdict = verdictOf(known);
    isStarting = known.length < entries.length;
  };

  /** Takes up what is kept of a check from before the start. */
  const recall = ({ check: { id } }: Entry): void => {
    const kept = withHistory(() => history.state(id));
    if (kept !== undefined) states.set(id, kept);
  };

  /** Undefined where nobody wants to be asked: that is to cost nothing, not even a turn. */
  const veto = ({ id, name, category, severity }: Check): Promise<Veto | undefined> | undefined =>
    hooks === undefined || hooks.names("pre_check").length === 0
      ? undefined
      : hooks.ask("pre_check", { check_id: id, name, category, severity });

  /** The fix of what a check found, and whether it can do anything about it. */
  const fixOf = async (check: Check, found: Outcome): Promise<Pick<HealthCheckResult, "fixable" | "fix_id">> => {
    const fixId = fixIdOf(check, found);
    if (fixId === undefined) return { fixable: false };
    const isIll = found.status === "warn" || found.status === "fail";
    const canFix = isIll && (fixability === undefined || (await fixability(fixId, found, shutdown.signal)));
    return { fixable: canFix, fix_id: fixId };
  };

  const runEntry = async (entry: Entry): Promise<HealthCheckResult> => {
    const { check, settings, timeoutMs } = entry;
    const { id, name, category, severity } = check;
    const asked = veto(check);
    const held = asked && (await asked);
    const startedAtMs = clock.monotonicMs();
    const found = held ? heldBack(held) : await contained(check, settings, timeoutMs);
    const { status, message, details } = found;
    const checkedAt = clock.now();
    const durationMs = Math.round(clock.monotonicMs() - startedAtMs);
    const fix = await fixOf(check, found);
    const before = states.get(id);
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
      ...fix,
      since: toTimestamp(state.since),
      consecutive_failures: state.consecutiveFailures,
    };
    // What is cut short by the end of the service, or of the check, says nothing about the host.
    if (shutdown.signal.aborted || byId.get(id) !== entry) return result;
    states.set(id, state);
    entry.result = result;
    entry.endedAtMs = clock.monotonicMs();
    judgeAll();
    withHistory(() => history.record(id, { checkedAt, status, message, durationMs }, state));
    onRun({ result, previousStatus: before?.status });
    return result;
  };

  fixed.forEach(recall);
  judgeAll();

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

  const remove = (entry: Entry): void => {
    const { id } = entry.check;
    if (byId.get(id) !== entry) return;
    entries = entries.filter((each) => each !== entry);
    byId.delete(id);
    states.delete(id);
    judgeAll();
    onGone?.(id);
  };

  return {
    get ids() {
      return entries.map(({ check }) => check.id);
    },
    find: (id) => byId.get(id)?.check,
    add(check) {
      if (byId.has(check.id)) throw new Error(`cannot add the check ${check.id}: there is one of that id`);
      if (!isOn(check)) return () => undefined;
      const entry = createEntry(check, plan);
      const added = [...entries.slice(fixed.length), entry];
      entries = [...fixed, ...added.sort((a, b) => (a.check.id < b.check.id ? -1 : 1))];
      byId.set(check.id, entry);
      recall(entry);
      judgeAll();
      if (stop !== undefined) {
        entry.placeMs = clock.monotonicMs();
        entry.dueAtMs = entry.placeMs + entry.intervalMs;
        start(entry).catch(onTrouble);
      }
      return () => remove(entry);
    },
    async list() {
      const startedAtMs = clock.monotonicMs();
      const listed = entries;
      const all = await Promise.all(listed.map(fresh));
      // One that was taken away meanwhile has nothing to say any more.
      const results = all.filter((_, at) => listed[at] !== undefined && entries.includes(listed[at]));
      return { summary: summarize(results, Math.round(clock.monotonicMs() - startedAtMs)), results };
    },
    run(id) {
      const entry = byId.get(id);
      return entry && start(entry);
    },
    current(id) {
      const entry = byId.get(id);
      return entry && fresh(entry);
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
    isStarting: () => isStarting,
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
      stop?.();
      shutdown.abort();
    },
  };
}
