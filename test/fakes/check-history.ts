import { createRunHistory, type RunHistory } from "#domain/health/history/history.ts";
import { combine } from "#domain/health/history/series.ts";
import { addHours } from "#domain/health/history/timeline.ts";
import type {
  CheckHistory,
  HistoryChanges,
  HourPoint,
  PointsById,
  StoredHour,
  StoredRun,
  StoredSeries,
  StoredState,
} from "#domain/ports/check-history.ts";

export interface FakeCheckHistoryStore extends CheckHistory {
  /** What every call throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
}

const only = <T>(
  all: ReadonlyMap<number, PointsById<T>>,
  ids: ReadonlySet<number>,
  since: number,
  until: number,
): readonly (readonly [number, PointsById<T>])[] =>
  [...all]
    .filter(([at]) => at >= since && at <= until)
    .sort(([a], [b]) => a - b)
    .map(([at, points]) => [at, new Map([...points].filter(([id]) => ids.has(id)))]);

/** The history of checks in memory. */
export function createFakeCheckHistoryStore(): FakeCheckHistoryStore {
  const states = new Map<string, StoredState>();
  const series = new Map<number, StoredSeries>();
  const transitions = new Map<string, readonly StoredRun[]>();
  const hours = new Map<string, Map<number, StoredHour>>();
  const minutes = new Map<number, PointsById<number>>();
  const pointHours = new Map<number, PointsById<HourPoint>>();
  const runs = new Map<string, readonly StoredRun[]>();
  let aliveUntil: number | undefined;

  const addRuns = (changes: HistoryChanges): void => {
    for (const [id, state] of changes.states ?? []) states.set(id, state);
    for (const [id, added] of changes.runs ?? []) runs.set(id, [...(runs.get(id) ?? []), ...added]);
    const { runsSince = Number.NEGATIVE_INFINITY } = changes;
    for (const [id, all] of runs)
      runs.set(
        id,
        all.filter(({ checkedAt }) => checkedAt >= runsSince),
      );
    for (const [id, added] of changes.transitions ?? []) {
      const stored = transitions.get(id) ?? [];
      transitions.set(id, changes.areEarlier ? [...added, ...stored] : [...stored, ...added]);
    }
    for (const [id, added] of changes.hours ?? []) {
      const stored = hours.get(id) ?? new Map<number, StoredHour>();
      hours.set(id, stored);
      for (const each of added) {
        const before = stored.get(each.hour);
        stored.set(each.hour, before === undefined ? each : addHours(before, each));
      }
    }
  };

  const addPoints = (changes: HistoryChanges): void => {
    for (const each of changes.series ?? []) series.set(each.id, each);
    for (const [at, points] of changes.minutes ?? []) minutes.set(at, new Map([...(minutes.get(at) ?? []), ...points]));
    for (const [at, points] of changes.pointHours ?? []) {
      const stored = new Map(pointHours.get(at));
      for (const [id, point] of points) stored.set(id, combine(stored.get(id), point));
      pointHours.set(at, stored);
    }
  };

  const forgetBefore = <T>(map: Map<number, T>, before = Number.NEGATIVE_INFINITY): void => {
    for (const at of map.keys()) if (at < before) map.delete(at);
  };

  const store: CheckHistory = {
    aliveUntil: () => aliveUntil,
    state: (id) => states.get(id),
    series: () => [...series.values()],
    apply(changes) {
      addRuns(changes);
      addPoints(changes);
      aliveUntil = changes.aliveUntil ?? aliveUntil;
    },
    forget(before) {
      for (const [id, all] of transitions) {
        const kept = all.filter(
          (each, at) => at === all.length - 1 || each.checkedAt >= (before.transitions ?? each.checkedAt),
        );
        transitions.set(id, kept.slice(-(before.transitionsPerCheck ?? kept.length)));
      }
      for (const ofCheck of hours.values()) forgetBefore(ofCheck, before.hours);
      forgetBefore(minutes, before.minutes);
      forgetBefore(pointHours, before.pointHours);
      for (const { id, seenAt } of series.values()) if (seenAt < (before.series ?? seenAt)) series.delete(id);
    },
    runs: (id, since) =>
      (runs.get(id) ?? []).filter(({ checkedAt }) => checkedAt >= since).sort((a, b) => a.checkedAt - b.checkedAt),
    transitions: (id) => transitions.get(id) ?? [],
    hours: (id, since) =>
      [...(hours.get(id)?.values() ?? [])].filter(({ hour }) => hour >= since).sort((a, b) => a.hour - b.hour),
    minutes: (ids, since, until) => only(minutes, ids, since, until),
    pointHours: (ids, since, until) => only(pointHours, ids, since, until),
  };

  const fake: FakeCheckHistoryStore = { ...store, fault: undefined };
  return new Proxy(fake, {
    get(target, name) {
      if (name !== "fault" && target.fault !== undefined) throw target.fault;
      return Reflect.get(target, name);
    },
  });
}

export interface FakeCheckHistory extends RunHistory {
  /** What its store throws while it is set, as a full disk makes it. */
  fault: Error | undefined;
  /** To starts over on, as after a restart. */
  readonly store: FakeCheckHistoryStore;
}

/** The history of checks on memory. */
export function createFakeCheckHistory(store = createFakeCheckHistoryStore()): FakeCheckHistory {
  const history = createRunHistory(store);
  return Object.defineProperty({ ...history, store, fault: undefined }, "fault", {
    get: () => store.fault,
    set(fault: Error | undefined) {
      store.fault = fault;
    },
  });
}
