import type { Alert, AlertName } from "#contract/alerts.ts";
import { type Clock, type Dispose, toTimestamp } from "#domain/kernel/clock.ts";
import { type AlertCondition, type AlertMetric, alertConditions } from "./conditions.ts";
import { type AlertTelling, evaluated, isQuiet, quietAlert, resumed, type Tracked } from "./evaluation.ts";
import type { AlertStore, StoredAlert } from "./ports.ts";

/** How often the conditions are looked at: as often as Prometheus scrapes. */
const evaluationIntervalMs = 15_000;
/** After a longer absence a condition that was pending begins anew, as with Prometheus. */
const toleratedMs = 60 * 60_000;

/** What this host can measure of itself. That it is down it cannot. */
export type Readings = Readonly<Record<Exclude<AlertMetric, "scrape_target_down">, () => Promise<number>>>;

/** Who evaluates the alerts. */
export type Evaluator = "steward" | "prometheus" | "nobody";

/** News of an alert. */
export interface AlertNews {
  readonly what: AlertTelling;
  readonly condition: AlertCondition;
  readonly value: number | undefined;
  /** Epoch milliseconds; of one that is over, now. */
  readonly since: number;
}

export interface Alerts {
  readonly list: () => readonly Alert[];
  readonly start: () => void;
  readonly dispose: Dispose;
}

interface Entry {
  tracked: Tracked;
  value: number | undefined;
}

function remembered(store: Pick<AlertStore, "alerts">, clock: Clock, onTrouble: (error: unknown) => void) {
  const resume = ({ name, savedAt, ...tracked }: StoredAlert): [AlertName, Entry] => [
    name,
    // A clock that went back meanwhile ages nothing.
    { tracked: resumed(tracked, Math.max(0, clock.now() - savedAt), toleratedMs), value: undefined },
  ];
  try {
    return new Map(store.alerts().map(resume));
  } catch (error) {
    onTrouble(error);
    return new Map<AlertName, Entry>();
  }
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

/** Evaluates the table of alerts by the host's own figures, where no Prometheus does. */
export function createAlerts(ports: {
  readonly evaluator: Evaluator;
  readonly readings: Readings;
  readonly store: Pick<AlertStore, "alerts" | "saveAlert" | "forgetAlert">;
  readonly isSilenced: (alert: AlertName) => boolean;
  readonly clock: Clock;
  readonly tell: (news: AlertNews) => void;
  /** Is told of what cannot be measured or written down. */
  readonly onTrouble: (error: unknown) => void;
}): Alerts {
  const { evaluator, readings, store, isSilenced, clock, tell, onTrouble } = ports;
  const isOwn = evaluator === "steward";
  const entries = isOwn ? remembered(store, clock, onTrouble) : new Map<AlertName, Entry>();
  let lookedAtMs = clock.monotonicMs();
  let isRunning = false;
  let isOver = false;
  let stop: Dispose | undefined;

  const measured = async (metric: AlertMetric): Promise<number | undefined> => {
    if (metric === "scrape_target_down") return undefined;
    try {
      return await readings[metric]();
    } catch (error) {
      onTrouble(error);
      return undefined;
    }
  };

  const keep = (name: AlertName, before: Tracked, after: Tracked): void => {
    if (isQuiet(before) && isQuiet(after)) return;
    try {
      if (isQuiet(after)) store.forgetAlert(name);
      else store.saveAlert({ name, ...after, savedAt: clock.now() });
    } catch (error) {
      onTrouble(error);
    }
  };

  const sinceOf = ({ heldMs }: Tracked): number =>
    clock.now() - Math.round((heldMs ?? 0) + clock.monotonicMs() - lookedAtMs);

  const look = (condition: AlertCondition, value: number | undefined, elapsedMs: number): void => {
    const { name } = condition;
    const before = entries.get(name)?.tracked ?? quietAlert;
    const result = evaluated(before, condition, { value, elapsedMs, isSilenced: isSilenced(name) });
    const { tracked, tell: what } = result;
    entries.set(name, { tracked, value });
    keep(name, before, tracked);
    if (what !== undefined) tell({ what, condition, value, since: sinceOf(tracked) });
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

  const entryOf = (condition: AlertCondition): Alert => {
    const { name, severity, expression, threshold, durationMs, metric } = condition;
    const isEvaluated = isOwn && metric !== "scrape_target_down";
    const { tracked, value } = entries.get(name) ?? { tracked: quietAlert, value: undefined };
    const holds = isEvaluated && tracked.heldMs !== null;
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
      value: isEvaluated && value !== undefined ? rounded(value) : null,
      silenced: isSilenced(name),
    };
  };

  return {
    list: () => alertConditions.map(entryOf),
    start() {
      if (!isOwn || stop !== undefined) return;
      const run = (): void => void evaluate().catch(onTrouble);
      stop = clock.every(evaluationIntervalMs, run);
      run();
    },
    dispose() {
      isOver = true;
      stop?.();
    },
  };
}
