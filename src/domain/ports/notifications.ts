import type { NotificationChannel, NotificationKind, NotificationOutcome } from "#contract/alerts.ts";

/** What people are told: plain text, which whoever sends it makes harmless for where it goes. */
export interface Message {
  /** The same each time that it is sent, so that a repetition can be told. */
  readonly id: string;
  /** Epoch milliseconds of what it tells of. */
  readonly at: number;
  readonly isGood: boolean;
  readonly title: string;
  /** Lines of a name and a text, which may have been written by others. */
  readonly facts: readonly (readonly [name: string, text: string])[];
}

/** Sends to one channel. */
export interface Notifier {
  /** Addresses that mail goes to; none for chat. */
  readonly to: readonly string[];
  /** @throws NotificationFailed when it was not taken. */
  readonly send: (message: Message, signal: AbortSignal) => Promise<void>;
}

/** A notification was not taken. Its message has no secret in it. */
export class NotificationFailed extends Error {
  override readonly name = "NotificationFailed";
  /** Whether it may be taken when it is sent again. */
  readonly isRetryable: boolean;

  constructor(message: string, isRetryable: boolean) {
    super(message);
    this.isRetryable = isRetryable;
  }
}

/** A notification to one channel, and what has become of it. Times are epoch milliseconds. */
export interface StoredNotification {
  readonly id: string;
  readonly kind: NotificationKind;
  readonly subject: string;
  readonly channel: NotificationChannel;
  readonly to: readonly string[];
  readonly message: Message;
  readonly attempts: number;
  readonly outcome: NotificationOutcome;
  readonly error: string | null;
  readonly endedAt: number | null;
}

/** What is remembered of a component between starts of the service. */
export interface StoredComponent {
  readonly name: string;
  readonly isDown: boolean;
  /** How long ago it changed, each time within the window of flapping, oldest first. */
  readonly changeAgesMs: readonly number[];
  /** Changes since it began to flap; 0 while it does not. */
  readonly flaps: number;
  /** Changes that nobody was told of. */
  readonly untold: number;
  /** Epoch milliseconds. */
  readonly savedAt: number;
}

/** Notifications and what they are made from, kept over restarts. */
export interface NotificationStore {
  /** In their order of coming. */
  readonly notifications: () => readonly StoredNotification[];
  /** Adds it, or puts it in place of the one with its id. */
  readonly saveNotification: (notification: StoredNotification) => void;
  readonly forgetNotification: (id: string) => void;
  readonly components: () => readonly StoredComponent[];
  readonly saveComponent: (component: StoredComponent) => void;
  readonly forgetComponent: (name: string) => void;
}
