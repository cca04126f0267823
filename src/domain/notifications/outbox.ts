import type { NotificationChannel, NotificationOutcome } from "#contract/alerts.ts";
import { notificationListLimit } from "#contract/alerts.ts";
import type { Clock, Dispose } from "#kernel/clock.ts";
import type { Draft } from "./messages.ts";
import { NotificationFailed, type NotificationStore, type Notifier, type StoredNotification } from "./ports.ts";
import { createTurns } from "./turns.ts";

/** Pause after a failed attempt, doubled with each until the longest. */
const firstPauseMs = 10_000;
const longestPauseMs = 15 * 60_000;
/** About six hours. */
const maxAttempts = 30;
/** How long one attempt may take. */
const attemptMs = 30_000;
/** Notifications that may wait for one channel: the oldest gives way. */
const maxQueued = 200;

export type Channels = ReadonlyMap<NotificationChannel, Notifier>;

export interface Outbox {
  /** Writes it down for these channels and sends it; one that is not configured is left out. */
  readonly post: (draft: Draft, channels: readonly NotificationChannel[]) => void;
  /** Sends it once and now. */
  readonly sendNow: (
    draft: Draft,
    channels: readonly NotificationChannel[],
    signal: AbortSignal,
  ) => Promise<readonly StoredNotification[]>;
  /** Newest first. */
  readonly list: () => readonly StoredNotification[];
  readonly start: () => void;
  readonly dispose: Dispose;
}

/** The pause after so many failed attempts. */
export const pauseAfter = (attempts: number): number =>
  Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempts - 1, 10));

function loaded(store: NotificationStore, onTrouble: (error: unknown) => void): Map<string, StoredNotification> {
  try {
    return new Map(store.notifications().map((each) => [each.id, each]));
  } catch (error) {
    onTrouble(error);
    return new Map();
  }
}

interface Failure {
  readonly reason: string;
  readonly isRetryable: boolean;
}

/** Words of what has gone wrong elsewhere may hold the address. */
const toFailure = (error: unknown): Failure =>
  error instanceof NotificationFailed
    ? { reason: error.message, isRetryable: error.isRetryable }
    : { reason: "it could not be sent", isRetryable: true };

/**
 * What is to be told, kept on disk until it is: one after the other in each channel, again and again with growing pauses, and
 * none behind the pause of another. What is written down is a mirror of what is in memory: a disk that is full is a reason to
 * tell, and not one to be silent.
 * @param ports.onEnd is told of each that has ended.
 * @param ports.onTrouble is told when it cannot be written down, or when a channel does not take what is sent.
 */
export function createOutbox(ports: {
  readonly store: NotificationStore;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly createId: () => string;
  readonly onEnd: (channel: NotificationChannel, outcome: NotificationOutcome, error: string | null) => void;
  readonly onTrouble: (error: unknown) => void;
}): Outbox {
  const { store, channels, clock, createId, onEnd, onTrouble } = ports;
  const all = loaded(store, onTrouble);
  const shutdown = new AbortController();
  const turns = createTurns(() => clock.monotonicMs());
  /** Those that are on their way, and whoever waits in a channel in which all pause. */
  const sending = new Set<string>();
  const waiting = new Map<NotificationChannel, AbortController>();
  const pumping = new Set<NotificationChannel>();
  let isStarted = false;

  const written = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      onTrouble(error);
    }
  };

  const save = (notification: StoredNotification): StoredNotification => {
    all.set(notification.id, notification);
    written(() => store.saveNotification(notification));
    return notification;
  };

  const end = (notification: StoredNotification, outcome: NotificationOutcome, error: string | null) => {
    const ended = save({ ...notification, outcome, error, endedAt: clock.now() });
    turns.ended(ended.id);
    onEnd(ended.channel, outcome, error);
    return ended;
  };

  const queued = (channel: NotificationChannel): readonly StoredNotification[] =>
    [...all.values()].filter((each) => each.channel === channel && each.outcome === "queued");

  /** The oldest that have ended make room. */
  const trim = (): void => {
    for (const { id, outcome } of all.values()) {
      if (all.size <= notificationListLimit.maximum) return;
      if (outcome === "queued") continue;
      all.delete(id);
      written(() => store.forgetNotification(id));
    }
  };

  const add = (
    draft: Draft,
    channel: NotificationChannel,
    { to }: Notifier,
    state: Pick<StoredNotification, "attempts" | "outcome" | "error" | "endedAt">,
  ): StoredNotification => {
    const id = createId();
    const { kind, subject, ...message } = draft;
    const notification = save({ id, kind, subject, channel, to, message: { id, ...message }, ...state });
    trim();
    return notification;
  };

  const attempt = async (
    notification: StoredNotification,
    notifier: Notifier,
    signal: AbortSignal,
  ): Promise<Failure | undefined> => {
    const over = new AbortController();
    const late = clock.sleep(attemptMs, AbortSignal.any([signal, over.signal])).then(() => {
      throw new NotificationFailed("no answer in time", true);
    });
    try {
      await Promise.race([notifier.send(notification.message, AbortSignal.any([signal, over.signal])), late]);
      return undefined;
    } catch (error) {
      return toFailure(error);
    } finally {
      late.catch(() => undefined);
      over.abort();
    }
  };

  const sendOne = async (notification: StoredNotification, notifier: Notifier): Promise<void> => {
    const { id, channel } = notification;
    const attempts = notification.attempts + 1;
    // Before it is sent, so that attempts are counted that the service does not outlive.
    const tried = save({ ...notification, attempts });
    sending.add(id);
    const failure = await attempt(tried, notifier, shutdown.signal);
    sending.delete(id);
    if (failure === undefined) return void end(tried, "sent", null);
    if (shutdown.signal.aborted) return;
    if (!failure.isRetryable || attempts >= maxAttempts) return void end(tried, "failed", failure.reason);
    turns.pause(save({ ...tried, error: failure.reason }), queued(channel), pauseAfter(attempts));
  };

  /** Waits until one is due, or a new one is there. */
  const wait = async (channel: NotificationChannel, waitMs: number): Promise<void> => {
    const over = new AbortController();
    waiting.set(channel, over);
    await clock.sleep(waitMs, AbortSignal.any([shutdown.signal, over.signal]));
    waiting.delete(channel);
  };

  const drain = async (channel: NotificationChannel, notifier: Notifier): Promise<void> => {
    for (;;) {
      const turn = turns.turn(queued(channel));
      if (turn === undefined || shutdown.signal.aborted) {
        // Here and not when the promise is done: what is posted in between would wait for the next one.
        pumping.delete(channel);
        return;
      }
      if ("next" in turn) await sendOne(turn.next, notifier);
      else await wait(channel, turn.waitMs);
    }
  };

  const pump = (channel: NotificationChannel): void => {
    const notifier = channels.get(channel);
    if (!isStarted || notifier === undefined || pumping.has(channel)) return;
    pumping.add(channel);
    void drain(channel, notifier).catch((error: unknown) => {
      pumping.delete(channel);
      onTrouble(error);
    });
  };

  return {
    post(draft, wanted) {
      for (const channel of wanted) {
        const notifier = channels.get(channel);
        if (notifier === undefined) continue;
        const before = queued(channel);
        const oldest = before.find(({ id }) => !sending.has(id));
        if (before.length >= maxQueued && oldest !== undefined) end(oldest, "dropped", "too many were waiting");
        const added = add(draft, channel, notifier, { attempts: 0, outcome: "queued", error: null, endedAt: null });
        turns.added(added, queued(channel));
        pump(channel);
        waiting.get(channel)?.abort();
      }
    },
    sendNow(draft, wanted, signal) {
      const known = wanted.flatMap((channel) => {
        const notifier = channels.get(channel);
        return notifier === undefined ? [] : [{ channel, notifier }];
      });
      return Promise.all(
        known.map(async ({ channel, notifier }) => {
          // Written down as ended: it is not sent again, whatever becomes of this process.
          const interrupted = { attempts: 1, outcome: "failed", error: "interrupted", endedAt: clock.now() } as const;
          const notification = add(draft, channel, notifier, interrupted);
          const failure = await attempt(notification, notifier, AbortSignal.any([signal, shutdown.signal]));
          return failure === undefined ? end(notification, "sent", null) : end(notification, "failed", failure.reason);
        }),
      );
    },
    list: () => [...all.values()].reverse(),
    start() {
      isStarted = true;
      for (const each of [...all.values()]) {
        if (each.outcome === "queued" && !channels.has(each.channel))
          end(each, "failed", "its channel is no longer configured");
      }
      for (const channel of channels.keys()) pump(channel);
    },
    dispose: () => shutdown.abort(),
  };
}
