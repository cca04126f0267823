import type { Alert, AlertName } from "#contract/alerts.ts";
import type { AlertStore, StoredAlert, Tracked } from "#domain/ports/alerts.ts";
import { isOver } from "#kernel/async.ts";
import { type Clock, type Dispose, toTimestamp } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";
import { type AlertCondition, type AlertMetric, alertConditions } from "./conditions.ts";
import { type AlertNotifier, evaluated, isQuiet, quietAlert, resumed } from "./evaluation.ts";

/** As often as Prometheus scrapes. */
const evaluationIntervalMs = 15_000;
const readingMs = 10_000;
/** After a longer absence a pending condition starts over, as with Prometheus. */
const toleratedMs = 60 * 60_000;

/** All but whether the host is down, which it cannot measure itself. */
export type Readings = Readonly<Record<Exclude<AlertMetric, "scrape_target_down">, () => Promise<number>>>;

export type Evaluator = "steward" | "prometheus" | "nobody";

export interface AlertEvent {
  readonly what: AlertNotifier;
  readonly condition: AlertCondition;
  readonly value: number | undefined;
  readonly since: number;
}

export type Alerts = ReturnType<typeof createAlerts>;

interface Entry {
  tracked: Tracked;
  value: number | undefined;
}

function remembered(store: Pick<AlertStore, "alerts">, clock: Clock, onTrouble: (error: unknown) => void) {
  const resume = ({ name, savedAt, ...tracked }: StoredAlert): [AlertName, Entry] => [
    name,
    // A clock that was set back ages nothing.
    { tracked: resumed(tracked, Math.max(0, clock.now() - savedAt), toleratedMs), value: undefined },
  ];
  return orReport(() => new Map(store.alerts().map(resume)), onTrouble) ?? new Map<AlertName, Entry>();
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

/** Reads a metric within the time limit. One that hangs is not read again meanwhile: each read of a dead disk holds a thread. */
function createMeasuring(ports: {
  readonly readings: Readings;
  readonly clock: Clock;
  readonly onTrouble: (error: unknown) => void;
}): (metric: keyof Readings) => Promise<number | undefined> {
  const { readings, clock, onTrouble } = ports;
  const hanging = new Set<keyof Readings>();

  return async (metric) => {
    if (hanging.has(metric)) return undefined;
    const over = new AbortController();
    const late = clock.sleep(readingMs, over.signal).then(() => {
      if (over.signal.aborted) return;
      hanging.add(metric);
      onTrouble(new Error(`${metric} cannot be measured: no answer within ${readingMs / 1000} s`));
    });
    const reading = (async () => {
      try {
        return await readings[metric]();
      } catch (error) {
        onTrouble(error);
        return undefined;
      } finally {
        over.abort(isOver);
        hanging.delete(metric);
      }
    })();
    return (await Promise.race([reading, late])) ?? undefined;
  };
}

/** Evaluates the alerts by the host's own figures, without Prometheus. */
export function createAlerts(ports: {
  readonly evaluator: Evaluator;
  readonly readings: Readings;
  readonly store: Pick<AlertStore, "alerts" | "saveAlert" | "forgetAlert">;
  readonly isSilenced: (alert: AlertName) => boolean;
  readonly clock: Clock;
  readonly notify: (event: AlertEvent) => void;
  readonly onTrouble: (error: unknown) => void;
}) {
  const { evaluator, readings, store, isSilenced, clock, notify, onTrouble } = ports;
  const isOwn = evaluator === "steward";
  const entries = isOwn ? remembered(store, clock, onTrouble) : new Map<AlertName, Entry>();
  let lookedAtMs = clock.monotonicMs();
  let isRunning = false;
  let isOver = false;
  let stop: Dispose | undefined;

  const measure = createMeasuring({ readings, clock, onTrouble });
  const measured = async (metric: AlertMetric): Promise<number | undefined> =>
    metric === "scrape_target_down" ? undefined : measure(metric);

  const keep = (name: AlertName, before: Tracked, after: Tracked): void => {
    if (isQuiet(before) && isQuiet(after)) return;
    orReport(() => {
      if (isQuiet(after)) store.forgetAlert(name);
      else store.saveAlert({ name, ...after, savedAt: clock.now() });
    }, onTrouble);
  };

  const sinceOf = ({ heldMs }: Tracked): number =>
    clock.now() - Math.round((heldMs ?? 0) + clock.monotonicMs() - lookedAtMs);

  const look = (condition: AlertCondition, value: number | undefined, elapsedMs: number): void => {
    const { name } = condition;
    const before = entries.get(name)?.tracked ?? quietAlert;
    const result = evaluated(before, condition, { value, elapsedMs, isSilenced: isSilenced(name) });
    const { tracked, notify: what } = result;
    entries.set(name, { tracked, value });
    keep(name, before, tracked);
    if (what !== undefined) notify({ what, condition, value, since: sinceOf(tracked) });
  };

  const evaluate = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    try {
      const values = await Promise.all(alertConditions.map(({ metric }) => measured(metric)));
      if (isOver) return;
      const nowMs = clock.monotonicMs();
      const elapsedMs = nowMs - lookedAtMs;
      lookedAtMs = nowMs;
      for (const [index, condition] of alertConditions.entries()) {
        if (condition.metric !== "scrape_target_down") look(condition, values[index], elapsedMs);
      }
    } finally {
      isRunning = false;
    }
  };

  const toAlert = (condition: AlertCondition): Alert => {
    const { name, severity, expression, threshold, durationMs, metric } = condition;
    const isLookedAt = isOwn && metric !== "scrape_target_down";
    const entry = entries.get(name);
    const { tracked, value } = entry ?? { tracked: quietAlert, value: undefined };
    const holds = isLookedAt && tracked.heldMs !== null;
    // A held alert keeps its state while it cannot be measured; the state of any other is then unknown.
    const isEvaluated = isLookedAt && (holds || entry === undefined || value !== undefined);
    const heldState = tracked.isFiring ? "firing" : "pending";
    return {
      name,
      severity,
      condition: expression,
      threshold,
      for_seconds: durationMs / 1000,
      state: !isEvaluated ? "not_evaluated" : holds ? heldState : "inactive",
      evaluated_by: isOwn && metric === "scrape_target_down" ? "systemd" : evaluator,
      since: holds ? toTimestamp(sinceOf(tracked)) : null,
      value: isLookedAt && value !== undefined ? rounded(value) : null,
      silenced: isSilenced(name),
    };
  };

  return {
    list: (): readonly Alert[] => alertConditions.map(toAlert),
    start: (): void => {
      if (!isOwn || stop !== undefined) return;
      const run = (): void => void evaluate().catch(onTrouble);
      stop = clock.every(evaluationIntervalMs, run);
      run();
    },
    dispose: (): void => {
      isOver = true;
      stop?.();
    },
  };
}
