import { HostUnavailable } from "#domain/common/host-unavailable.ts";

export interface Inhibitor {
  readonly who: string;
  readonly why: string;
  /** Whether it forbids a reboot; else it delays one. */
  readonly blocks: boolean;
}

export interface RebootSchedule {
  /** Epoch milliseconds; null without one. */
  readonly scheduledAt: number | null;
  /** logind's word for what is scheduled: `reboot`, `poweroff`; empty without anything. */
  readonly kind: string;
  /** Names of those who are logged in, each once. */
  readonly users: readonly string[];
  readonly inhibitors: readonly Inhibitor[];
}

export interface RebootOptions {
  /** For those who are logged in. */
  readonly message: string;
  /** Whether it happens also while a program forbids it. */
  readonly ignoresInhibitors: boolean;
}

/** Every method throws {@link RebootsUnavailable} without an answer of logind. */
export interface Reboots {
  readonly state: (signal: AbortSignal) => Promise<RebootSchedule>;
  /** Replaces what is scheduled. @param at epoch milliseconds. */
  readonly schedule: (at: number, options: RebootOptions, signal: AbortSignal) => Promise<void>;
  /** Whatever is scheduled. */
  readonly cancel: (signal: AbortSignal) => Promise<void>;
}

export class RebootsUnavailable extends HostUnavailable {
  override readonly name = "RebootsUnavailable";

  constructor(message: string) {
    super(message, { missing: "logind", retryable: true });
  }
}
