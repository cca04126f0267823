import { type NotificationChannel, type NotificationOutcome, notificationListLimit } from "#contract/alerts.ts";
import {
  NotificationFailed,
  type NotificationStore,
  type Notifier,
  type StoredNotification,
} from "#domain/ports/notifications.ts";
import { withinTime } from "#kernel/async.ts";
import type { Clock } from "#kernel/clock.ts";
import { orReport } from "#kernel/errors.ts";
import { grouped, groupMs, groupOf, isGrouped, isOfGroup } from "./grouping.ts";
import type { Draft } from "./messages.ts";
import { createQueueOrder, type QueueOrder } from "./queue-order.ts";
import { channelsFor, draftFor, endsIncident, isSameIncident } from "./routing.ts";

/** Pause after a failed attempt, doubled each time. */
const firstPauseMs = 10_000;
const longestPauseMs = 15 * 60_000;
/** About six hours. */
const maxAttempts = 30;
const attemptMs = 30_000;
/** After that, what ends an incident is tried at this pace, and for so long: until then somebody else takes the incident for open. */
const owedPauseMs = 60 * 60_000;
const owedForMs = 30 * 24 * 60 * 60_000;
/** Per channel; the oldest is dropped, and what ends an incident last. */
const maxQueued = 200;

export type Channels = ReadonlyMap<NotificationChannel, Notifier>;

export type Outbox = ReturnType<typeof createOutbox>;

export const pauseAfter = (attempts: number): number =>
  Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempts - 1, 10));

function loaded(store: NotificationStore, onTrouble: (error: unknown) => void): Map<string, StoredNotification> {
  return orReport(() => new Map(store.notifications().map((each) => [each.id, each])), onTrouble) ?? new Map();
}

interface Failure {
  readonly reason: string;
  readonly isRetryable: boolean;
}

/** Messages of unknown errors may contain the address. */
const toFailure = (error: unknown): Failure =>
  error instanceof NotificationFailed
    ? { reason: error.message, isRetryable: error.isRetryable }
    : { reason: "it could not be sent", isRetryable: true };

export interface OutboxPorts {
  readonly store: NotificationStore;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly createId: () => string;
  readonly host: string;
  readonly onEnd: (channel: NotificationChannel, outcome: NotificationOutcome, error: string | null) => void;
  readonly onTrouble: (error: unknown) => void;
}

interface State extends OutboxPorts {
  /** By id, in order of arrival. */
  readonly all: Map<string, StoredNotification>;
  readonly turns: QueueOrder;
  readonly shutdown: AbortController;
  readonly sending: Set<string>;
  /** Ends the wait of a channel. */
  readonly waiting: Map<NotificationChannel, AbortController>;
  readonly pumping: Set<NotificationChannel>;
  isStarted: boolean;
}

function save(state: State, notification: StoredNotification): StoredNotification {
  state.all.set(notification.id, notification);
  orReport(() => state.store.saveNotification(notification), state.onTrouble);
  return notification;
}

function end(
  state: State,
  notification: StoredNotification,
  outcome: NotificationOutcome,
  error: string | null,
): StoredNotification {
  const ended = save(state, { ...notification, outcome, error, endedAt: state.clock.now() });
  state.turns.ended(ended.id);
  state.onEnd(ended.channel, outcome, error);
  return ended;
}

const queued = ({ all }: State, channel: NotificationChannel): readonly StoredNotification[] =>
  [...all.values()].filter((each) => each.channel === channel && each.outcome === "queued");

function trim(state: State): void {
  const { all, store } = state;
  for (const { id, outcome } of all.values()) {
    if (all.size <= notificationListLimit.maximum) return;
    if (outcome === "queued") continue;
    all.delete(id);
    orReport(() => store.forgetNotification(id), state.onTrouble);
  }
}

function addNotification(
  state: State,
  draft: Draft,
  channel: NotificationChannel,
  { to }: Notifier,
  outcome: Pick<StoredNotification, "attempts" | "outcome" | "error" | "endedAt">,
): StoredNotification {
  const id = state.createId();
  const { kind, subject, ...message } = draft;
  const notification = save(state, { id, kind, subject, channel, to, message: { id, ...message }, ...outcome });
  trim(state);
  return notification;
}

const late = (): never => {
  throw new NotificationFailed("no answer in time", true);
};

const attempt = (
  clock: Pick<Clock, "sleep">,
  { kind, subject, message }: StoredNotification,
  notifier: Notifier,
  signal: AbortSignal,
): Promise<Failure | undefined> =>
  withinTime(clock, attemptMs, signal, (during) => notifier.send({ ...message, kind, subject }, during), late).then(
    () => undefined,
    toFailure,
  );

/** Whether it is tried on although it has failed for six hours. */
function isOwed({ clock }: State, notification: StoredNotification, others: readonly StoredNotification[]): boolean {
  if (!endsIncident(notification) || clock.now() - notification.message.at >= owedForMs) return false;
  const at = others.findIndex(({ id }) => id === notification.id);
  return !others.slice(at + 1).some((each) => isSameIncident(each, notification));
}

/** Puts one in the place of those that are sent together, at once in the store as well. */
function groupFrom(state: State, next: StoredNotification): StoredNotification {
  const { all, host, store, turns, onTrouble } = state;
  const group = isGrouped(next) ? groupOf(next, queued(state, next.channel)) : [];
  const whole = grouped(group, host);
  if (whole === undefined || group.length === 1) return next;
  all.set(whole.id, whole);
  const others = group.slice(1);
  for (const { id } of others) {
    all.delete(id);
    turns.ended(id);
  }
  orReport(
    () =>
      store.together(() => {
        store.saveNotification(whole);
        for (const { id } of others) store.forgetNotification(id);
      }),
    onTrouble,
  );
  return whole;
}

async function sendOne(state: State, notification: StoredNotification, notifier: Notifier): Promise<void> {
  const { clock, sending, shutdown, turns } = state;
  const { id, channel } = notification;
  const attempts = notification.attempts + 1;
  // Stored before it is sent, so that attempts count that end with this process.
  const tried = save(state, { ...notification, attempts });
  sending.add(id);
  const failure = await attempt(clock, tried, notifier, shutdown.signal);
  sending.delete(id);
  if (failure === undefined) return void end(state, tried, "sent", null);
  if (shutdown.signal.aborted) return;
  const isLate = attempts >= maxAttempts;
  if (!failure.isRetryable || (isLate && !isOwed(state, tried, queued(state, channel))))
    return void end(state, tried, "failed", failure.reason);
  const pauseMs = isLate ? owedPauseMs : pauseAfter(attempts);
  turns.pause(save(state, { ...tried, error: failure.reason }), queued(state, channel), pauseMs);
}

async function wait({ clock, waiting, shutdown }: State, channel: NotificationChannel, waitMs: number): Promise<void> {
  const over = new AbortController();
  waiting.set(channel, over);
  await clock.sleep(waitMs, AbortSignal.any([shutdown.signal, over.signal]));
  waiting.delete(channel);
}

async function deliverAll(state: State, channel: NotificationChannel, notifier: Notifier): Promise<void> {
  for (;;) {
    const turn = state.turns.turn(queued(state, channel));
    if (turn === undefined || state.shutdown.signal.aborted) {
      // Here, not when the promise resolves: one posted in between would wait.
      state.pumping.delete(channel);
      return;
    }
    if ("next" in turn) await sendOne(state, groupFrom(state, turn.next), notifier);
    else await wait(state, channel, turn.waitMs);
  }
}

function pump(state: State, channel: NotificationChannel): void {
  const { channels, isStarted, pumping, onTrouble } = state;
  const notifier = channels.get(channel);
  if (!isStarted || notifier === undefined || pumping.has(channel)) return;
  pumping.add(channel);
  void deliverAll(state, channel, notifier).catch((error: unknown) => {
    pumping.delete(channel);
    onTrouble(error);
  });
}

function makeSpace(state: State, channel: NotificationChannel): void {
  const all = queued(state, channel);
  if (all.length < maxQueued) return;
  const waiting = all.filter(({ id }) => !state.sending.has(id));
  const dropped = waiting.find((each) => !endsIncident(each)) ?? waiting[0];
  if (dropped !== undefined) end(state, dropped, "dropped", "too many were waiting");
}

function post(state: State, draft: Draft, channel: NotificationChannel, notifier: Notifier): void {
  const { turns, waiting } = state;
  makeSpace(state, channel);
  const waits = { attempts: 0, outcome: "queued", error: null, endedAt: null } as const;
  const added = addNotification(state, draft, channel, notifier, waits);
  for (const each of queued(state, channel))
    if (each.attempts >= maxAttempts && isSameIncident(each, added) && !state.sending.has(each.id))
      end(state, each, "dropped", "a later event replaced it");
  const others = queued(state, channel);
  if (isGrouped(added)) turns.hold(added, others.find((each) => isOfGroup(added, each)) ?? added, groupMs);
  turns.added(added, others);
  waiting.get(channel)?.abort();
  pump(state, channel);
}

async function sendNow(
  state: State,
  draft: Draft,
  channel: NotificationChannel,
  notifier: Notifier,
  signal: AbortSignal,
): Promise<StoredNotification> {
  const { clock, shutdown } = state;
  // Stored as ended: it is not sent again, even after a crash.
  const interrupted = { attempts: 1, outcome: "failed", error: "interrupted", endedAt: clock.now() } as const;
  const notification = addNotification(state, draft, channel, notifier, interrupted);
  const failure = await attempt(clock, notification, notifier, AbortSignal.any([signal, shutdown.signal]));
  return failure === undefined
    ? end(state, notification, "sent", null)
    : end(state, notification, "failed", failure.reason);
}

/**
 * Stored notifications, sent one after the other in each channel, with growing pauses after failures, and none behind the pause of
 * another. Checks that change within a short time are one. The memory is authoritative: a full disk is a reason to notify.
 */
export function createOutbox(ports: OutboxPorts) {
  const { store, channels, clock, onTrouble } = ports;
  const state: State = {
    ...ports,
    all: loaded(store, onTrouble),
    turns: createQueueOrder(() => clock.monotonicMs()),
    shutdown: new AbortController(),
    sending: new Set(),
    waiting: new Map(),
    pumping: new Set(),
    isStarted: false,
  };
  const configured = (wanted: readonly NotificationChannel[]) =>
    wanted.flatMap((channel) => {
      const notifier = channels.get(channel);
      return notifier === undefined ? [] : [{ channel, notifier }];
    });

  return {
    /** Stores and sends it, also to the channels that are sent its severity; those that are not configured are skipped. */
    post: (draft: Draft, wanted: readonly NotificationChannel[]): void => {
      const all = new Set([...wanted, ...channelsFor(draft, channels)]);
      for (const { channel, notifier } of configured([...all]))
        post(state, draftFor(draft, notifier.severity), channel, notifier);
    },
    /** Sends it at once, without a retry. */
    sendNow: (
      draft: Draft,
      wanted: readonly NotificationChannel[],
      signal: AbortSignal,
    ): Promise<readonly StoredNotification[]> =>
      Promise.all(configured(wanted).map(({ channel, notifier }) => sendNow(state, draft, channel, notifier, signal))),
    list: (): readonly StoredNotification[] => [...state.all.values()].reverse(),
    start: (): void => {
      state.isStarted = true;
      for (const each of [...state.all.values()]) {
        if (each.outcome === "queued" && !channels.has(each.channel))
          end(state, each, "failed", "its channel is no longer configured");
      }
      for (const channel of channels.keys()) pump(state, channel);
    },
    dispose: () => state.shutdown.abort(),
  };
}
