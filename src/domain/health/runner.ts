import type { CheckLevel, CheckStatus, HealthCheckList, HealthCheckResult } from "#contract/checks.ts";
import { checkIntervalMs, checkTimeoutMs, maxConcurrentChecks } from "#contract/limits.ts";
import type { Hooks } from "#domain/common/hooks.ts";
import { createSlots } from "#kernel/async.ts";
import { type Clock, type Dispose, toTimestamp } from "#kernel/clock.ts";
import { defined } from "#kernel/values.ts";
import type { Check, CheckSettings, Graded, Outcome } from "./check.ts";
import { type CheckPlan, createCheckRun, type Fixability, isSwitchedOn, settingsOf } from "./check-run.ts";
import { type CheckStates, createCheckStates, type HistoryOfRuns, type Judged, summarize } from "./check-states.ts";

export interface CheckRun {
  readonly result: HealthCheckResult;
  /** Undefined for the first run ever. */
  readonly previousStatus: CheckStatus | undefined;
  /** The hard state after it. */
  readonly hard: CheckLevel;
}

/** Where an outcome comes from that the check itself does not make. */
export interface CheckSource {
  readonly run: (signal: AbortSignal) => Promise<Outcome>;
  /** What it may take beyond the limit of the check. */
  readonly graceMs?: number;
}

export type CheckRunner = ReturnType<typeof createCheckRunner>;

/** Checks that fall due within one tick start together. */
const tickMs = 1_000;
/** Old runs are forgotten now and then, however seldom checks run. */
const longestWaitMs = 60 * 60_000;
const flushIntervalMs = 60_000;
/** The first runs are spread over this time, later ones over the interval. */
const firstRoundMs = 10_000;

interface Entry {
  readonly check: Check;
  readonly settings: CheckSettings;
  readonly intervalMs: number;
  readonly calmIntervalMs: number;
  readonly timeoutMs: number;
  readonly judged: Judged;
  result: HealthCheckResult | undefined;
  /** Undefined before the first run of this process. */
  graded: Graded | undefined;
  endedAtMs: number;
  dueAtMs: number;
  /** Its place in the interval: later due times are counted from here. */
  placeMs: number;
  inFlight: Promise<HealthCheckResult> | undefined;
  /** On the monotonic clock: when the run that begins next was last asked for. */
  askedAtMs: number;
  /** Whether the run in flight began without anybody asking for it: who asks now is owed the present state. */
  isUnasked: boolean;
}

function createEntry(check: Check, plan: CheckPlan): Entry {
  const { intervalMs, timeoutMs, attempts } = plan.checks[check.id] ?? {};
  // Due checks are looked for at most every tick.
  const usualMs = Math.max(tickMs, intervalMs ?? check.intervalMs ?? plan.intervalMs ?? checkIntervalMs);
  return {
    check,
    settings: settingsOf(check, plan),
    intervalMs: usualMs,
    calmIntervalMs: Math.max(usualMs, intervalMs ?? check.calmIntervalMs ?? 0),
    timeoutMs: (timeoutMs ?? check.timeoutMs ?? checkTimeoutMs) + (check.graceMs ?? 0),
    judged: { id: check.id, severity: check.severity, intervalMs: usualMs, attempts },
    result: undefined,
    graded: undefined,
    endedAtMs: Number.NEGATIVE_INFINITY,
    dueAtMs: 0,
    placeMs: 0,
    inFlight: undefined,
    askedAtMs: 0,
    isUnasked: false,
  };
}

export interface CheckRunnerPorts {
  readonly checks: readonly Check[];
  readonly settings: CheckPlan;
  readonly history: HistoryOfRuns;
  readonly clock: Clock;
  readonly onRun: (run: CheckRun) => void;
  readonly onGone?: (id: string) => void;
  readonly hooks?: Pick<Hooks, "names" | "ask">;
  /** Without it every fix can do something. */
  readonly fixability?: Fixability;
  /** Called once when the history starts to fail. */
  readonly onTrouble: (error: unknown) => void;
}

interface Running extends CheckRunnerPorts {
  readonly states: CheckStates;
  readonly runCheck: ReturnType<typeof createCheckRun>;
  readonly inSlot: ReturnType<typeof createSlots>;
  readonly shutdown: AbortController;
  /** The built-in ones first, then those added later, by id. */
  entries: readonly Entry[];
  readonly fixedCount: number;
  stop: Dispose | undefined;
  stopFlushing: Dispose | undefined;
}

const findEntry = ({ entries }: Running, id: string): Entry | undefined => entries.find(({ check }) => check.id === id);

/** Its settings, and what it said before, also in an earlier process: near a threshold that decides. */
function settingsOfRun({ states }: Running, { check, settings, graded: objects }: Entry): CheckSettings {
  const status = states.status(check.id);
  return status === undefined ? settings : { ...settings, previous: { status, ...defined({ objects }) } };
}

async function runEntry(running: Running, entry: Entry, source?: CheckSource): Promise<HealthCheckResult> {
  const { states, shutdown, clock, onRun } = running;
  const { check, timeoutMs } = entry;
  const { id, name, category, severity } = check;
  const sourced =
    source === undefined ? check : { ...check, run: (_: unknown, signal: AbortSignal) => source.run(signal) };
  const settings = settingsOfRun(running, entry);
  const found = await running.runCheck(sourced, settings, timeoutMs + (source?.graceMs ?? 0), entry.askedAtMs);
  const state = states.next(id, found);
  const hardness = states.nextHard(entry.judged, found.status);
  const { attempt, attempts } = hardness;
  const result: HealthCheckResult = {
    check_id: id,
    name,
    status: found.status,
    message: found.message,
    details: found.details,
    ...defined({ thresholds: found.thresholds }),
    duration_ms: found.durationMs,
    category,
    severity,
    checked_at: toTimestamp(found.checkedAt),
    ...found.fix,
    since: toTimestamp(state.since),
    consecutive_failures: state.consecutiveFailures,
    state_type: attempt > 0 ? "soft" : "hard",
    attempt: attempt > 0 ? attempt : attempts,
    max_attempts: attempts,
  };
  // A run that was cut short by the end of the service, or of the check, says nothing.
  if (shutdown.signal.aborted || !running.entries.includes(entry)) return result;
  const previousStatus = states.status(id);
  entry.result = result;
  // A check that failed itself, or whose subject is absent, says nothing of its objects.
  entry.graded = found.graded ?? (found.status === "pass" ? {} : entry.graded);
  entry.endedAtMs = clock.monotonicMs();
  states.save(id, found, state, hardness);
  states.judge(running.entries);
  onRun({ result, previousStatus, hard: hardness.hard });
  return result;
}

function run(
  running: Running,
  entry: Entry,
  how: CheckSource | "unasked" | undefined,
  askedAtMs = running.clock.monotonicMs(),
): Promise<HealthCheckResult> {
  entry.askedAtMs = askedAtMs;
  entry.inFlight ??= running
    .inSlot(() => {
      entry.isUnasked = how === "unasked";
      return runEntry(running, entry, how === "unasked" ? undefined : how);
    })
    .finally(() => {
      entry.inFlight = undefined;
      entry.isUnasked = false;
    });
  return entry.inFlight;
}

async function runWhenAsked(running: Running, entry: Entry): Promise<HealthCheckResult> {
  if (entry.isUnasked) await entry.inFlight;
  return run(running, entry, undefined);
}

async function rerun(running: Running, entry: Entry, source?: CheckSource): Promise<HealthCheckResult> {
  if (entry.inFlight !== undefined) await entry.inFlight;
  // Somebody else who waited may have been first: good enough, unless this run has a source of its own.
  while (source !== undefined && entry.inFlight !== undefined) await entry.inFlight;
  return run(running, entry, source);
}

const mostAgeMs = ({ result, intervalMs, calmIntervalMs }: Entry): number =>
  result?.status === "pass" || result?.status === "skip" ? calmIntervalMs : intervalMs;

function current(running: Running, entry: Entry): Promise<HealthCheckResult> {
  const { result, endedAtMs } = entry;
  const isFresh = running.clock.monotonicMs() - endedAtMs < mostAgeMs(entry);
  return result !== undefined && isFresh ? Promise.resolve(result) : run(running, entry, undefined);
}

async function listResults(running: Running): Promise<HealthCheckList> {
  const { entries } = running;
  const all = await Promise.all(entries.map((entry) => current(running, entry)));
  // Without those that were removed meanwhile.
  const results = all.filter((_, at) => entries[at] !== undefined && running.entries.includes(entries[at]));
  return { summary: summarize(results), results };
}

function runDue(running: Running): void {
  const { clock, entries, states, onTrouble } = running;
  const nowMs = clock.monotonicMs();
  for (const entry of entries) {
    if (nowMs < entry.dueAtMs) continue;
    const { intervalMs, placeMs } = entry;
    entry.dueAtMs = placeMs + Math.ceil((nowMs - placeMs + 1) / intervalMs) * intervalMs;
    // It has just been run on request, or is calm.
    const justMs = Math.min(2 * tickMs, intervalMs / 2);
    if (nowMs - entry.endedAtMs < mostAgeMs(entry) - intervalMs + justMs) continue;
    // One time for all that is due, so that one answer of root counts for all of them.
    run(running, entry, "unasked", nowMs).catch(onTrouble);
  }
  states.prune();
}

/** Waits for the next due check, in whole ticks. */
function schedule(running: Running): void {
  const { clock, entries } = running;
  const waitMs = Math.min(longestWaitMs, ...entries.map(({ dueAtMs }) => dueAtMs - clock.monotonicMs()));
  running.stop?.();
  running.stop = clock.every(Math.max(1, Math.ceil(waitMs / tickMs)) * tickMs, () => {
    runDue(running);
    schedule(running);
  });
}

function start(running: Running): void {
  const { clock, entries } = running;
  const nowMs = clock.monotonicMs();
  const ofGroups = new Map<string, number>();
  for (const [at, entry] of entries.entries()) {
    const { group } = entry.check;
    const share = (group === undefined ? undefined : ofGroups.get(group)) ?? at / entries.length;
    if (group !== undefined) ofGroups.set(group, share);
    entry.dueAtMs = nowMs + share * Math.min(firstRoundMs, entry.intervalMs / 2);
    entry.placeMs = nowMs + share * entry.intervalMs;
  }
  running.stopFlushing = clock.every(flushIntervalMs, () => running.states.flush());
  schedule(running);
}

function remove(running: Running, entry: Entry): void {
  const { entries, states, onGone } = running;
  if (!entries.includes(entry)) return;
  running.entries = entries.filter((each) => each !== entry);
  states.remove(entry.check.id);
  states.judge(running.entries);
  onGone?.(entry.check.id);
}

function add(running: Running, check: Check): Dispose {
  const { entries, fixedCount, settings, states, clock, onTrouble } = running;
  if (findEntry(running, check.id)) throw new Error(`cannot add the check ${check.id}: there is one of that id`);
  if (!isSwitchedOn(check, settings)) return () => undefined;
  const entry = createEntry(check, settings);
  const added = [...entries.slice(fixedCount), entry].sort((a, b) => (a.check.id < b.check.id ? -1 : 1));
  running.entries = [...entries.slice(0, fixedCount), ...added];
  states.restore(entry.judged);
  states.judge(running.entries);
  if (running.stop !== undefined) {
    entry.placeMs = clock.monotonicMs();
    entry.dueAtMs = entry.placeMs + entry.intervalMs;
    schedule(running);
    run(running, entry, "unasked").catch(onTrouble);
  }
  return () => remove(running, entry);
}

/** Runs checks on request and at their intervals, at most four at a time. */
export function createCheckRunner(ports: CheckRunnerPorts) {
  const { checks, settings } = ports;
  const shutdown = new AbortController();
  const entries = checks.filter((check) => isSwitchedOn(check, settings)).map((check) => createEntry(check, settings));
  const states = createCheckStates({ ...ports, attempts: settings.attempts });
  const runCheck = createCheckRun(ports, shutdown.signal);
  const inSlot = createSlots(maxConcurrentChecks);
  const fixedCount = entries.length;
  const running: Running = {
    ...{ ...ports, states, runCheck, inSlot, shutdown, entries, fixedCount },
    ...{ stop: undefined, stopFlushing: undefined },
  };
  for (const { judged } of entries) states.restore(judged);
  states.judge(entries);
  const withEntry = <T>(id: string, work: (entry: Entry) => T): T | undefined => {
    const entry = findEntry(running, id);
    return entry && work(entry);
  };

  return {
    get ids(): readonly string[] {
      return running.entries.map(({ check }) => check.id);
    },
    find: (id: string): Check | undefined => findEntry(running, id)?.check,
    /** Adds a check and runs it, unless it is disabled. Disposing removes it with all but its history. */
    add: (check: Check): Dispose => add(running, check),
    /** Runs what is older than its interval, and returns all results. */
    list: () => listResults(running),
    /** Runs one check; all who ask meanwhile share the run, also one that waits to begin. Undefined for an unknown id. */
    run: (id: string) => withEntry(id, (entry) => runWhenAsked(running, entry)),
    /** The last result while it is younger than its interval, else a run; undefined for an unknown id. */
    current: (id: string) => withEntry(id, (entry) => current(running, entry)),
    /** Runs one check again: a run that is under way is waited for, and not shared. @param source makes the outcome instead. */
    rerun: (id: string, source?: CheckSource) => withEntry(id, (entry) => rerun(running, entry, source)),
    async runMissing(): Promise<void> {
      const missing = running.entries.filter(({ result }) => result === undefined);
      await Promise.all(missing.map((entry) => run(running, entry, "unasked")));
    },
    /** The overall status by the last results, also of earlier processes. It is computed when one changes: asking costs nothing. */
    verdict: states.verdict,
    isStarting: states.isStarting,
    start: (): void => start(running),
    dispose: (): void => {
      running.stop?.();
      running.stopFlushing?.();
      shutdown.abort();
      states.flush();
    },
  };
}
