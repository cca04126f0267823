import type { AlertName } from "#contract/alerts.ts";
import type { Tracked } from "./evaluation.ts";

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
