import type { AlertName } from "#contract/alerts.ts";

export interface StoredAlert extends Tracked {
  readonly name: AlertName;
  /** Epoch milliseconds. */
  readonly savedAt: number;
}

/** What nobody is notified of: an alert or a check. */
export interface Silenced {
  readonly alert?: AlertName | undefined;
  readonly check?: string | undefined;
}

/** Suppresses notifications. Times are epoch milliseconds. */
export interface StoredSilence extends Silenced {
  readonly id: string;
  readonly until: number;
  readonly comment: string;
  readonly createdAt: number;
  readonly createdBy: string;
}

export interface AlertStore {
  readonly alerts: () => readonly StoredAlert[];
  readonly saveAlert: (alert: StoredAlert) => void;
  readonly forgetAlert: (name: AlertName) => void;
  /** Oldest first. */
  readonly silences: () => readonly StoredSilence[];
  readonly saveSilence: (silence: StoredSilence) => void;
  readonly forgetSilence: (id: string) => void;
}

/** The state of an alert. Times are ages by the monotonic clock: neither setting the clock nor a restart changes them. */
export interface Tracked {
  /** How long the condition has held without a break; null when it does not. */
  readonly heldMs: number | null;
  readonly isFiring: boolean;
  /** The last notification. */
  readonly isNotifiedFiring: boolean;
  /** Since the last firing notification. */
  readonly sinceNotifiedMs: number;
  /** Since the last flush of its group; null without a group. Each alert is its own group. */
  readonly groupMs: number | null;
  readonly isFirstWait: boolean;
}
