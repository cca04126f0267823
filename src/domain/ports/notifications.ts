import type {
  AlertSeverity,
  ChannelSeverity,
  NotificationChannel,
  NotificationKind,
  NotificationOutcome,
} from "#contract/alerts.ts";
import type { CheckLevel } from "#contract/checks.ts";

/** Plain text for people; its sender escapes it for the channel. */
export interface Message {
  /** The same in each attempt, so that repetitions are recognized. */
  readonly id: string;
  /** Epoch milliseconds of the event. */
  readonly at: number;
  readonly isGood: boolean;
  /** Of a resolution: that of the problem, so that both go to the same channels. Absent where the event has none. */
  readonly severity?: AlertSeverity;
  readonly title: string;
  readonly facts: readonly (readonly [name: string, text: string])[];
}

/** A message, and what it is about. */
export interface OutgoingMessage extends Message {
  readonly kind: NotificationKind;
  readonly subject: string;
}

export interface Notifier {
  /** Addresses of mail; none for other channels. */
  readonly to: readonly string[];
  /** Which events it is sent; those of the rules for chat, email and the paging receiver unless given. */
  readonly severity?: ChannelSeverity;
  /** @throws NotificationFailed when it is refused. */
  readonly send: (message: OutgoingMessage, signal: AbortSignal) => Promise<void>;
}

/** The message has no secret in it. */
export class NotificationFailed extends Error {
  override readonly name = "NotificationFailed";
  readonly isRetryable: boolean;

  constructor(message: string, isRetryable: boolean) {
    super(message);
    this.isRetryable = isRetryable;
  }
}

/** A notification to one channel. Times are epoch milliseconds. */
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

export interface StoredComponent {
  readonly name: string;
  readonly isDown: boolean;
  /** Of changes within the window of flapping, oldest first. */
  readonly changeAgesMs: readonly number[];
  /** Changes since it began to flap; else 0. */
  readonly flaps: number;
  /** Changes without a notification. */
  readonly pending: number;
  /** Epoch milliseconds. */
  readonly savedAt: number;
}

/** What people were notified of a health check. */
export interface StoredCheck {
  readonly name: string;
  readonly notified: CheckLevel;
  /** The last hard state, as far as people are notified of such. */
  readonly seen: CheckLevel;
  /** Of notifications within the last hour, oldest first. */
  readonly notifiedAgesMs: readonly number[];
  /** Hard states since the last notification. */
  readonly changes: number;
  /** Epoch milliseconds. */
  readonly savedAt: number;
}

export interface NotificationStore {
  /** Oldest first. */
  readonly notifications: () => readonly StoredNotification[];
  /** Adds it or replaces the one with its id. */
  readonly saveNotification: (notification: StoredNotification) => void;
  readonly forgetNotification: (id: string) => void;
  readonly components: () => readonly StoredComponent[];
  readonly saveComponent: (component: StoredComponent) => void;
  readonly forgetComponent: (name: string) => void;
  readonly checks: () => readonly StoredCheck[];
  readonly saveCheck: (check: StoredCheck) => void;
  /** What is saved within `work` is kept whole or not at all. */
  readonly together: (work: () => void) => void;
}
