import type { AlertName } from "#contract/alerts.ts";

/** What is remembered of an alert between starts of the service. */
export interface StoredAlert extends Tracked {
  readonly name: AlertName;
  /** Epoch milliseconds. */
  readonly savedAt: number;
}

/** While it lasts, nobody is told of the alert. Times are epoch milliseconds. */
export interface StoredSilence {
  readonly id: string;
  readonly alert: AlertName;
  readonly until: number;
  readonly comment: string;
  readonly createdAt: number;
  readonly createdBy: string;
}

/** Alerts and silences, kept over restarts. */
export interface AlertStore {
  readonly alerts: () => readonly StoredAlert[];
  readonly saveAlert: (alert: StoredAlert) => void;
  /** Forgets what was remembered of it. */
  readonly forgetAlert: (name: AlertName) => void;
  /** In their order of coming. */
  readonly silences: () => readonly StoredSilence[];
  readonly saveSilence: (silence: StoredSilence) => void;
  readonly forgetSilence: (id: string) => void;
}

/**
 * What is known of one alert. Times are ages, which grow by what a clock that never jumps has counted: neither a clock that is
 * set nor a restart shortens or lengthens them.
 */
export interface Tracked {
  /** How long the condition has held without a break; null while it does not. */
  readonly heldMs: number | null;
  readonly isFiring: boolean;
  /** What people were told last. */
  readonly isToldFiring: boolean;
  /** Since people were told that it fires. */
  readonly sinceToldMs: number;
  /** Of its group, since it was looked through last; null while it has none. An alert is a group: no two have one name. */
  readonly groupMs: number | null;
  /** Whether the group waits for the first time. */
  readonly isFirstWait: boolean;
}
