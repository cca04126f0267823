import type { NotifyLevel } from "#contract/alerts.ts";
import { type CheckLevel, type HealthCheckResult, isUnhealthy, severities } from "#contract/checks.ts";
import type { NotificationStore, StoredCheck, StoredNotification } from "#domain/ports/notifications.ts";
import { type Clock, toTimestamp } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";
import { subjectsOf } from "./grouping.ts";

/** Within this time people are notified of a check at most {@link mostNotified} times. */
export const notifiedWindowMs = 60 * 60_000;
export const mostNotified = 2;

export interface CheckEvent {
  readonly result: Pick<HealthCheckResult, "check_id" | "name" | "severity" | "message" | "status" | "since">;
  readonly hard: CheckLevel;
  /** What people were notified of last. */
  readonly before: CheckLevel;
  /** Whether there is nothing left that people want to know of: where they want failures alone, a warning ends one. */
  readonly isOver: boolean;
  /** Hard states since then; 1 unless it flaps. */
  readonly changes: number;
  /** Whether it is over only because nobody wants to know of it any more. */
  readonly isUnreported?: true;
}

export interface CheckRunEvent {
  readonly result: CheckEvent["result"];
  readonly hard: CheckLevel;
}

type Watched = Pick<StoredCheck, "notified" | "seen" | "notifiedAgesMs" | "changes">;

const unknownCheck: Watched = { notified: "pass", seen: "pass", notifiedAgesMs: [], changes: 0 };

const aged = (watched: Watched, elapsedMs: number): Watched => ({
  ...watched,
  notifiedAgesMs: watched.notifiedAgesMs.map((age) => age + elapsedMs).filter((age) => age < notifiedWindowMs),
});

/** What there is to say of a level: from a threshold on, and that it is over. */
const heard = (level: CheckLevel, from: NotifyLevel): CheckLevel =>
  from === "fail" && level === "warn" ? "pass" : level;

/** Takes a hard state. @returns the next state; and where people are notified now, of how many changes. */
function seen(
  before: Watched,
  hard: CheckLevel,
  { from, isSilenced }: { readonly from: Exclude<NotifyLevel, "never">; readonly isSilenced: boolean },
): { readonly watched: Watched; readonly notify?: number } {
  const level = heard(hard, from);
  const changes = before.changes + (level === before.seen ? 0 : 1);
  const watched = { ...before, seen: level, changes };
  if (level === before.notified || isSilenced || before.notifiedAgesMs.length >= mostNotified) return { watched };
  return {
    watched: { notified: level, seen: level, notifiedAgesMs: [...before.notifiedAgesMs, 0], changes: 0 },
    notify: changes,
  };
}

const isOfCheck = (sent: StoredNotification, name: string): boolean =>
  sent.kind.startsWith("check_") && subjectsOf(sent).includes(name);

/**
 * What to say of a check that is no longer there: with the severity of what was sent last, so that the same channels hear of it. Where
 * that is not known all hear of it, since a critical event goes to each service.
 */
function resultWithout(
  name: string,
  sent: readonly StoredNotification[],
  { message, at }: { readonly message: string; readonly at: number },
): CheckEvent["result"] {
  const last = sent.findLast((each) => isOfCheck(each, name) && !each.message.isGood);
  const [, said] = last?.message.facts.find(([fact]) => fact === "Severity") ?? [];
  const isCritical = last === undefined || last.message.severity === "critical";
  const lesser = severities.find((each) => each === said && each !== "critical") ?? "high";
  const severity = isCritical ? "critical" : lesser;
  return { check_id: name, name, severity, message, status: "skip", since: toTimestamp(at) };
}

const isSame = (one: Watched, other: Watched): boolean =>
  one.notified === other.notified && one.seen === other.seen && one.changes === other.changes;

/**
 * Notifies of the hard states of checks: of each once, over restarts, and of one that flaps twice in an hour at most. What happened in
 * between is reported as a number of changes when the hour is over, unless all is as people know it.
 */
export function createCheckWatch(ports: {
  readonly store: Pick<NotificationStore, "checks" | "saveCheck" | "notifications" | "together">;
  readonly clock: Clock;
  readonly notifyFrom: (checkId: string) => NotifyLevel;
  readonly isSilenced: (checkId: string) => boolean;
  /** Called within the change of the store in which the notification is recorded. */
  readonly notify: (event: CheckEvent) => void;
  readonly onTrouble: (error: unknown) => void;
}) {
  const { store, clock, notifyFrom, isSilenced, notify, onTrouble } = ports;
  const resumed = ({ name, savedAt, ...watched }: StoredCheck): [string, Entry] => {
    // A clock that was set back ages nothing.
    const awayMs = Math.max(0, clock.now() - savedAt);
    return [name, { watched: aged(watched, awayMs), lookedAtMs: clock.monotonicMs(), result: undefined }];
  };
  const entries = orReport(() => new Map(store.checks().map(resumed)), onTrouble) ?? new Map<string, Entry>();

  const note = (name: string, watched: Watched, notified: CheckEvent | undefined): void => {
    const save = (): void => store.saveCheck({ name, ...watched, savedAt: clock.now() });
    if (notified === undefined) {
      orReport(save, onTrouble);
      return;
    }
    let isNotified = false;
    const saveAndNotify = (): void => {
      isNotified = true;
      notify(notified);
      save();
    };
    orReport(() => store.together(saveAndNotify), onTrouble);
    // A full disk is a reason to notify.
    if (!isNotified) notify(notified);
  };

  /** Ends what people were notified of. At once, also while it is silenced: no later run would do so. */
  const end = (name: string, message: string, rest: Pick<CheckEvent, "isUnreported"> = {}): void => {
    const { watched, result } = entries.get(name) ?? {};
    if (watched === undefined || watched.notified === "pass") return;
    const { notified: before, changes } = watched;
    const at = clock.now();
    const known = result && { ...result, status: "skip" as const, message };
    const sent = known === undefined ? (orReport(() => store.notifications(), onTrouble) ?? []) : [];
    const over = known ?? resultWithout(name, sent, { message, at });
    const notifiedAgesMs = [...watched.notifiedAgesMs, 0].slice(-mostNotified);
    const ended = { ...unknownCheck, notifiedAgesMs };
    entries.set(name, { watched: ended, lookedAtMs: clock.monotonicMs(), result });
    note(name, ended, { result: over, hard: "pass", before, isOver: true, changes: changes + 1, ...rest });
  };

  return {
    ran({ result, hard }: CheckRunEvent): void {
      const name = result.check_id;
      const from = notifyFrom(name);
      if (from === "never") {
        end(name, "settings say that it is not reported (notify: never)", { isUnreported: true });
        return;
      }
      // What passes has recovered at once. A problem that is soft decides nothing, the less after a restart, which forgets hard states.
      if (hard === "pass" && isUnhealthy(result)) return;
      const nowMs = clock.monotonicMs();
      const entry = entries.get(name) ?? { watched: unknownCheck, lookedAtMs: nowMs };
      const before = aged(entry.watched, nowMs - entry.lookedAtMs);
      const { watched, notify: changes } = seen(before, hard, { from, isSilenced: isSilenced(name) });
      entries.set(name, { watched, lookedAtMs: nowMs, result });
      if (isSame(before, watched)) return;
      const isOver = watched.notified === "pass";
      note(
        name,
        watched,
        changes === undefined ? undefined : { result, hard, before: before.notified, isOver, changes },
      );
    },
    /** The check was removed, while the service runs. */
    gone: (name: string): void => end(name, "the check was removed"),
    /** Ends what an earlier process reported of checks that are not run, or not reported, any more. @param ids of all checks. */
    reconcile(ids: readonly string[]): void {
      for (const name of entries.keys()) {
        if (!ids.includes(name)) end(name, "the check is switched off or was removed");
        else if (notifyFrom(name) === "never")
          end(name, "settings say that it is not reported (notify: never)", { isUnreported: true });
      }
    },
  };
}

interface Entry {
  readonly watched: Watched;
  readonly lookedAtMs: number;
  /** Undefined before the first run of this process. */
  readonly result: CheckEvent["result"] | undefined;
}
