import { HostUnavailable } from "#domain/common/host-unavailable.ts";

/** A unit of systemd. The states are systemd's own words; `loadState` is empty for a unit file that is not loaded. */
export interface Unit {
  readonly name: string;
  readonly description: string;
  readonly loadState: string;
  readonly activeState: string;
  readonly subState: string;
  readonly unitFileState: string;
  readonly mainPid: number | null;
  readonly memoryBytes: number | null;
  /** Automatic restarts since the unit was loaded or reset. */
  readonly restarts: number;
  /** Epoch milliseconds of the last change of state; null when there was none. */
  readonly since: number | null;
  /** systemd's Result: `success`, `exit-code`, `start-limit-hit`, … */
  readonly result: string;
}

/** Why a unit is not restarted. */
export interface PolicyRefusal {
  readonly reason: string;
  /** The setting that decides, and what to do about it. */
  readonly setting: "services.allow" | "services.deny";
  readonly remedy: string;
}

/** A unit together with what the policy says of its restart. */
export interface FoundUnit extends Unit {
  /** Why Steward does not restart it; undefined where it does. */
  readonly refusal: PolicyRefusal | undefined;
  /** Whether it is restarted only because the settings allow more than the default. */
  readonly isWidened: boolean;
  /** Whether systemd starts and stops the unit on request, and not only where another unit needs it. */
  readonly isManual: boolean;
  /** Whether the conditions of the unit held when systemd last looked, which it does at each start. */
  readonly isConditionMet: boolean;
}

/** A unit that has failed; `result` is empty for kinds that give none. */
export type FailedUnit = Pick<Unit, "name" | "result">;

/**
 * Units of the host. Every method throws {@link UnitsUnavailable} where systemd does not answer; where it does not run, units
 * can be listed and no more.
 */
export interface Units {
  /**
   * Services, loaded units and installed unit files by name, each once: an alias is not listed beside the unit that it names.
   * Where systemd does not run, none of them is loaded.
   */
  readonly list: () => Promise<readonly Unit[]>;
  /** Units of every kind that have failed: services, mounts, sockets, timers, …; undefined where systemd does not run. */
  readonly failed: () => Promise<readonly FailedUnit[] | undefined>;
  /** The unit as it is now, loaded for the question if need be; loadState `not-found` for an unknown one. */
  readonly read: (name: string) => Promise<FoundUnit>;
  readonly resetFailed: (name: string) => Promise<void>;
  /**
   * Restarts the unit and waits for the job. No implementation restarts what the policy refuses.
   * @returns systemd's job result, `running` when the job outlasts the wait. When the bus went away meanwhile, so that nobody
   * could hear the result, the unit itself has to show it; `unknown` where it does not.
   * @throws UnitProtected.
   */
  readonly restart: (name: string, signal: AbortSignal) => Promise<string>;
  /** Starts the restart and does not wait: for the unit that this process itself runs in. @throws UnitProtected. */
  readonly restartDetached: (name: string) => Promise<void>;
  /** Resolves once the unit is seen to have failed, or after the time. */
  readonly settled: (name: string, waitMs: number) => Promise<void>;
}

/** systemd, or the way to it, is not there. */
export class UnitsUnavailable extends HostUnavailable {
  override readonly name = "UnitsUnavailable";

  /** @param retryable whether it makes sense to ask again: false where systemd does not run at all. */
  constructor(message: string, retryable: boolean, cause?: unknown) {
    super(message, { missing: "systemd", retryable }, cause);
  }
}

/** systemd refuses to act on this unit as it is configured: its message says why. */
export class UnitRefused extends Error {
  override readonly name = "UnitRefused";
}

/** Steward's own policy refuses to restart the unit. */
export class UnitProtected extends Error {
  override readonly name = "UnitProtected";
  readonly refusal: PolicyRefusal;

  constructor(refusal: PolicyRefusal) {
    super(`${refusal.reason} (${refusal.remedy})`);
    this.refusal = refusal;
  }
}
