import type { NotifyLevel } from "#contract/alerts.ts";
import { type CheckLevel, type HealthCheckResult, isUnhealthy } from "#contract/checks.ts";
import type { NotificationStore, StoredCheck } from "#domain/ports/notifications.ts";
import type { Clock } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";

/** Within this time people are told of a check at most {@link mostTold} times. */
export const toldWindowMs = 60 * 60_000;
export const mostTold = 2;

export interface CheckNews {
  readonly result: Pick<HealthCheckResult, "check_id" | "name" | "severity" | "message" | "status" | "since">;
  readonly hard: CheckLevel;
  /** What people were told last. */
  readonly before: CheckLevel;
  /** Whether there is nothing left that people want to know of: where they want failures alone, a warning ends one. */
  readonly isOver: boolean;
  /** Hard states since then; 1 unless it flaps. */
  readonly changes: number;
}

export interface CheckRunNews {
  readonly result: CheckNews["result"];
  readonly hard: CheckLevel;
}

type Watched = Pick<StoredCheck, "told" | "seen" | "toldAgesMs" | "changes">;

const unknownCheck: Watched = { told: "pass", seen: "pass", toldAgesMs: [], changes: 0 };

const aged = (watched: Watched, elapsedMs: number): Watched => ({
  ...watched,
  toldAgesMs: watched.toldAgesMs.map((age) => age + elapsedMs).filter((age) => age < toldWindowMs),
});

/** What there is to say of a level: from a threshold on, and that it is over. */
const heard = (level: CheckLevel, from: NotifyLevel): CheckLevel =>
  from === "fail" && level === "warn" ? "pass" : level;

/** Takes a hard state. @returns the next state; and where people are told now, of how many changes. */
function seen(
  before: Watched,
  hard: CheckLevel,
  { from, isSilenced }: { readonly from: NotifyLevel; readonly isSilenced: boolean },
): { readonly watched: Watched; readonly tell?: number } {
  if (from === "never") return { watched: { ...unknownCheck, toldAgesMs: before.toldAgesMs } };
  const level = heard(hard, from);
  const changes = before.changes + (level === before.seen ? 0 : 1);
  const watched = { ...before, seen: level, changes };
  if (level === before.told || isSilenced || before.toldAgesMs.length >= mostTold) return { watched };
  return { watched: { told: level, seen: level, toldAgesMs: [...before.toldAgesMs, 0], changes: 0 }, tell: changes };
}

const isSame = (one: Watched, other: Watched): boolean =>
  one.told === other.told && one.seen === other.seen && one.changes === other.changes;

/**
 * Tells of the hard states of checks: each once, over restarts, and of one that flaps twice in an hour at most. What happened in
 * between is told as a number of changes when the hour is over, unless all is as people know it.
 */
export function createCheckWatch(ports: {
  readonly store: Pick<NotificationStore, "checks" | "saveCheck" | "together">;
  readonly clock: Clock;
  readonly notifyFrom: (checkId: string) => NotifyLevel;
  readonly isSilenced: (checkId: string) => boolean;
  /** Called within the change of the store in which it is noted that people are told. */
  readonly tell: (news: CheckNews) => void;
  readonly onTrouble: (error: unknown) => void;
}) {
  const { store, clock, notifyFrom, isSilenced, tell, onTrouble } = ports;
  const resumed = ({ name, savedAt, ...watched }: StoredCheck): [string, Entry] => {
    // A clock that was set back ages nothing.
    const awayMs = Math.max(0, clock.now() - savedAt);
    return [name, { watched: aged(watched, awayMs), lookedAtMs: clock.monotonicMs(), result: undefined }];
  };
  const entries = orReport(() => new Map(store.checks().map(resumed)), onTrouble) ?? new Map<string, Entry>();

  const watch = {
    ran({ result, hard }: CheckRunNews): void {
      // What passes has recovered at once. A problem that is soft decides nothing, the less after a restart, which forgets hard states.
      if (hard === "pass" && isUnhealthy(result)) return;
      const name = result.check_id;
      const nowMs = clock.monotonicMs();
      const entry = entries.get(name) ?? { watched: unknownCheck, lookedAtMs: nowMs };
      const before = aged(entry.watched, nowMs - entry.lookedAtMs);
      const { watched, tell: changes } = seen(before, hard, { from: notifyFrom(name), isSilenced: isSilenced(name) });
      entries.set(name, { watched, lookedAtMs: nowMs, result });
      if (isSame(before, watched)) return;
      const save = (): void => store.saveCheck({ name, ...watched, savedAt: clock.now() });
      if (changes === undefined) {
        orReport(save, onTrouble);
        return;
      }
      const news = { result, hard, before: before.told, isOver: watched.told === "pass", changes };
      let isTold = false;
      const saveAndTell = (): void => {
        isTold = true;
        tell(news);
        save();
      };
      orReport(() => store.together(saveAndTell), onTrouble);
      // A full disk is a reason to tell.
      if (!isTold) tell(news);
    },
    /** The check was removed, while the service runs. */
    gone(name: string): void {
      const { result } = entries.get(name) ?? {};
      if (result === undefined) return;
      watch.ran({ result: { ...result, status: "skip", message: "the check was removed" }, hard: "pass" });
    },
  };
  return watch;
}

interface Entry {
  readonly watched: Watched;
  readonly lookedAtMs: number;
  /** Undefined before the first run of this process. */
  readonly result: CheckNews["result"] | undefined;
}
