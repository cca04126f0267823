import { HostUnavailable } from "#domain/common/host-unavailable.ts";

/** A service unit, or a unit file that is not loaded. The states are systemd's own words. */
export interface Unit {
  readonly name: string;
  readonly description: string;
  readonly loadState: string;
  readonly activeState: string;
  readonly subState: string;
  readonly unitFileState: string;
  readonly mainPid: number | null;
  readonly memoryBytes: number | null;
  readonly restarts: number;
  /** Epoch milliseconds of the last change of state; null when there was none. */
  readonly since: number | null;
  /** systemd's Result: `success`, `exit-code`, `start-limit-hit`, … */
  readonly result: string;
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

/** Service units of the host. Every method throws {@link UnitsUnavailable} where systemd does not answer. */
export interface Units {
  /** Loaded units and installed unit files by name, each once: an alias is not listed beside the unit that it names. */
  readonly list: () => Promise<readonly Unit[]>;
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

/** A unit of systemd. The states are systemd's own words; `loadState` is empty for a unit file that is not loaded. */
export interface UnitState {
  readonly name: string;
  readonly loadState: string;
  readonly activeState: string;
  readonly subState: string;
  /** Automatic restarts since the unit was loaded or reset. */
  readonly restarts: number;
  /** `success`, `exit-code`, `start-limit-hit`, … */
  readonly result: string;
}

export interface UnitStates {
  /**
   * Services. Where systemd does not run, nothing of what is listed is loaded.
   * @throws where it runs and does not answer.
   */
  readonly list: () => Promise<readonly UnitState[]>;
  /**
   * Units of every kind that have failed: services, mounts, sockets, timers, …
   * @returns undefined where systemd does not run.
   * @throws where it runs and does not answer.
   */
  readonly failed: () => Promise<readonly FailedUnit[] | undefined>;
}

/** A unit that has failed; `result` is empty for kinds that give none. */
export type FailedUnit = Pick<UnitState, "name" | "result">;

/** Starts units of any kind again. Every method throws where systemd does not answer, or refuses. */
export interface UnitRepair {
  /**
   * The unit as it is now, and since when, which stays as it was where systemd does not even try to start it; loadState
   * `not-found` for an unknown one.
   */
  readonly read: (name: string) => Promise<
    UnitState & {
      readonly unitFileState: string;
      readonly since: number | null;
      /** Why Steward's policy leaves it alone; undefined where it may be restarted. */
      readonly refusal: { readonly reason: string; readonly remedy: string } | undefined;
    }
  >;
  readonly resetFailed: (name: string) => Promise<void>;
  /** @returns systemd's job result; `running` when the job outlasts the wait, `unknown` when it was lost with the bus and the unit does not show it. */
  readonly restart: (name: string, signal: AbortSignal) => Promise<string>;
  /** Resolves once the unit is seen to have failed, or after the time. */
  readonly settled: (name: string, waitMs: number) => Promise<void>;
}

/** Why a unit is not restarted. */
export interface PolicyRefusal {
  readonly reason: string;
  /** The setting that decides, and what to do about it. */
  readonly setting: "services.allow" | "services.deny";
  readonly remedy: string;
}
