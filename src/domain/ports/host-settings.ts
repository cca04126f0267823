import { HostUnavailable } from "#domain/common/host-unavailable.ts";

export interface TimeState {
  readonly timezone: string;
  /** Whether there is a time service that can be switched on. */
  readonly canSync: boolean;
  readonly isSyncEnabled: boolean;
  readonly isSynchronised: boolean;
  /** Whether the clock of the hardware has local time instead of UTC. */
  readonly isRtcLocal: boolean;
}

export interface TimeChange {
  readonly timezone?: string;
  readonly ntp?: boolean;
}

/** Clock settings of the host. Every method throws {@link HostSettingsUnavailable} without an answer. */
export interface TimeSettings {
  readonly state: (signal: AbortSignal) => Promise<TimeState>;
  /** All that the host knows. */
  readonly timezones: (signal: AbortSignal) => Promise<readonly string[]>;
  readonly set: (change: TimeChange, signal: AbortSignal) => Promise<void>;
}

export interface HostNameState {
  /** What the kernel has. */
  readonly current: string;
  /** What is set at boot; empty where nothing is. */
  readonly permanent: string;
  /** For people; empty if not set. */
  readonly pretty: string;
}

export interface HostNameChange {
  readonly hostname?: string;
  /** Empty takes it away. */
  readonly pretty?: string;
}

/** The name of the host. Every method throws {@link HostSettingsUnavailable} without an answer. */
export interface HostNames {
  readonly state: (signal: AbortSignal) => Promise<HostNameState>;
  /** For now and for each boot. */
  readonly set: (change: HostNameChange, signal: AbortSignal) => Promise<void>;
}

export class HostSettingsUnavailable extends HostUnavailable {
  override readonly name = "HostSettingsUnavailable";

  constructor(missing: string, why: string, { retryable = true }: { readonly retryable?: boolean } = {}) {
    super(why, { missing, retryable });
  }
}
