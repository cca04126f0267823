import type { NotificationKind } from "#contract/alerts.ts";
import type { NotificationStore, StoredComponent } from "#domain/ports/notifications.ts";
import type { ProbeResult } from "#domain/ports/probe.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";

/** Changes within this time count together; a component without any in it has settled. */
export const flapWindowMs = 10 * 60_000;
/** This many changes within the window are flapping. */
export const flapChanges = 4;

export type Watched = Omit<StoredComponent, "name" | "savedAt">;

export type AlertNotifier = "down" | "up" | "flaps" | "settled";

export interface Step {
  readonly watched: Watched;
  readonly notify?: { readonly what: AlertNotifier; readonly changes: number };
}

/** Taken for healthy, so that an unhealthy one is notified at once. */
export const unknownComponent: Watched = { isDown: false, changeAgesMs: [], flaps: 0, pending: 0 };

/** Ages the changes. A flapping component without recent ones has settled, which is notified after further changes. */
export function passed(watched: Watched, elapsedMs: number): Step {
  const changeAgesMs = watched.changeAgesMs.map((age) => age + elapsedMs).filter((age) => age < flapWindowMs);
  if (watched.flaps === 0 || changeAgesMs.length > 0) return { watched: { ...watched, changeAgesMs } };
  const settled = { isDown: watched.isDown, changeAgesMs, flaps: 0, pending: 0 };
  return watched.pending === 0
    ? { watched: settled }
    : { watched: settled, notify: { what: "settled", changes: watched.flaps } };
}

/** Takes the result of a probe. Flapping is notified once, until it has settled. */
export function found(watched: Watched, isDown: boolean): Step {
  if (watched.isDown === isDown) return { watched };
  const changeAgesMs = [...watched.changeAgesMs, 0].slice(-flapChanges);
  if (watched.flaps > 0) {
    return { watched: { isDown, changeAgesMs, flaps: watched.flaps + 1, pending: watched.pending + 1 } };
  }
  const changes = changeAgesMs.length;
  const next = { isDown, changeAgesMs, pending: 0 };
  if (changes >= flapChanges) return { watched: { ...next, flaps: changes }, notify: { what: "flaps", changes } };
  return { watched: { ...next, flaps: 0 }, notify: { what: isDown ? "down" : "up", changes } };
}

/** How often flapping components are checked for having settled. */
const settleIntervalMs = 30_000;

type ComponentKind = Extract<NotificationKind, `component_${string}`>;

export interface ComponentEvent {
  readonly kind: ComponentKind;
  readonly component: string;
  readonly isDown: boolean;
  readonly changes: number;
  readonly reason: string | undefined;
  /** It was reported as unhealthy, and nobody looks at it any more. */
  readonly isRemoved?: boolean;
}

const kinds: Readonly<Record<AlertNotifier, ComponentKind>> = {
  down: "component_down",
  up: "component_up",
  flaps: "component_flaps",
  settled: "component_settled",
};

type Store = Pick<NotificationStore, "components" | "saveComponent" | "forgetComponent">;

interface Entry {
  watched: Watched;
  lookedAtMs: number;
  reason: string | undefined;
}

/** Stored states, aged by the time since; a clock that was set back ages nothing. */
function remembered(store: Store, clock: Clock, onTrouble: (error: unknown) => void): Map<string, Entry> {
  const lookedAtMs = clock.monotonicMs();
  const aged = ({ name, savedAt, ...watched }: StoredComponent): [string, Entry] => {
    const awayMs = Math.max(0, clock.now() - savedAt);
    const changeAgesMs = watched.changeAgesMs.map((age) => Math.min(age + awayMs, flapWindowMs));
    return [name, { watched: { ...watched, changeAgesMs }, lookedAtMs, reason: undefined }];
  };
  return orReport(() => new Map(store.components().map(aged)), onTrouble) ?? new Map();
}

/** Notifies each change of a component once, and flapping once. */
export function createComponentWatch(ports: {
  readonly components: readonly string[];
  readonly store: Store;
  readonly clock: Clock;
  readonly notify: (event: ComponentEvent) => void;
  readonly onTrouble: (error: unknown) => void;
}) {
  const { components, store, clock, notify, onTrouble } = ports;
  const entries = remembered(store, clock, onTrouble);
  let stop: Dispose | undefined;

  /** A component that was removed from the settings starts over when it returns. What people were notified of is over. */
  const forget = (name: string, { watched: { isDown, flaps, changeAgesMs } }: Entry): void => {
    entries.delete(name);
    if (isDown || flaps > 0) {
      const reason = "it is no longer in the settings";
      const changes = changeAgesMs.length;
      notify({ kind: "component_up", component: name, isDown: false, changes, reason, isRemoved: true });
    }
    orReport(() => store.forgetComponent(name), onTrouble);
  };

  const take = (name: string, entry: Entry, { watched, notify: event }: Step): void => {
    const isNew = watched.isDown !== entry.watched.isDown || watched.flaps !== entry.watched.flaps;
    entry.watched = watched;
    if (isNew) orReport(() => store.saveComponent({ name, ...watched, savedAt: clock.now() }), onTrouble);
    if (event === undefined) return;
    const { what, changes } = event;
    notify({ kind: kinds[what], component: name, isDown: watched.isDown, changes, reason: entry.reason });
  };

  const age = (name: string, entry: Entry): void => {
    const nowMs = clock.monotonicMs();
    const step = passed(entry.watched, nowMs - entry.lookedAtMs);
    entry.lookedAtMs = nowMs;
    take(name, entry, step);
  };

  return {
    /** Takes the result of a probe; a component that is not expected cannot be down. */
    probed: (component: string, { healthy, expected, reason }: ProbeResult): void => {
      const isDown = !healthy && expected;
      let entry = entries.get(component);
      if (entry === undefined) {
        entry = { watched: unknownComponent, lookedAtMs: clock.monotonicMs(), reason };
        entries.set(component, entry);
      }
      age(component, entry);
      entry.reason = isDown ? reason : undefined;
      take(component, entry, found(entry.watched, isDown));
    },
    start: (): void => {
      for (const [name, entry] of entries) if (!components.includes(name)) forget(name, entry);
      stop ??= clock.every(settleIntervalMs, () => {
        for (const [name, entry] of entries) age(name, entry);
      });
    },
    dispose: (): void => {
      stop?.();
    },
  };
}
