import { HostUnavailable } from "#domain/common/host-unavailable.ts";

/** A systemd unit. `loadState` is empty for a unit file that is not loaded. */
export interface Unit {
  readonly name: string;
  readonly description: string;
  readonly loadState: string;
  readonly activeState: string;
  readonly subState: string;
  readonly unitFileState: string;
  readonly mainPid: number | null;
  readonly memoryBytes: number | null;
  /** Since the unit was loaded or reset. */
  readonly restarts: number;
  /** Epoch milliseconds of the last change of state. */
  readonly since: number | null;
  /** systemd's Result: `success`, `exit-code`, `start-limit-hit`, … */
  readonly result: string;
}

/** Whether a unit is more than a referenced name: it has a file, or runs or failed without one. */
export const isPresent = ({ loadState, activeState }: Pick<Unit, "loadState" | "activeState">): boolean =>
  loadState !== "not-found" || activeState !== "inactive";

export interface PolicyRefusal {
  readonly reason: string;
  readonly setting: "services.allow" | "services.deny";
  readonly remedy: string;
  /** Whether a request that confirms it is permitted. */
  readonly isConfirmable?: true;
}

/** Whether the caller has confirmed what the policy else refuses. */
export interface Confirmation {
  readonly isConfirmed: boolean;
}

export const unconfirmed: Confirmation = { isConfirmed: false };

/** What systemd does with a unit on request. `reload`: it reads its settings again. */
export const unitVerbs = ["start", "stop", "restart", "reload"] as const;
export type UnitVerb = (typeof unitVerbs)[number];

/** A unit that changes with another one. */
export interface AlsoChanged {
  readonly name: string;
  /** What happens to it; `trigger`: it stays active, and can start the other one again. */
  readonly verb: UnitVerb | "trigger";
  /** Of a unit that stops: why the policy refuses that. */
  readonly refusal?: PolicyRefusal;
}

/** What can be done with the file of a unit (systemctl(1)). */
export const unitFileVerbs = ["enable", "disable", "mask", "unmask"] as const;
export type UnitFileVerb = (typeof unitFileVerbs)[number];

/** Verbs that a reboot does not undo: it could leave a host that nobody can manage, so they cannot be confirmed. */
export const lastingVerbs = ["disable", "mask"] as const satisfies readonly UnitFileVerb[];
export type LastingVerb = (typeof lastingVerbs)[number];

/** What the policy refuses also with that confirmation. */
export function refusalOf(
  { refusal }: { readonly refusal: PolicyRefusal | undefined },
  { isConfirmed }: Confirmation,
  verb?: UnitVerb | UnitFileVerb,
): PolicyRefusal | undefined {
  if (refusal?.isConfirmable !== true) return refusal;
  const { reason, setting, remedy } = refusal;
  if (lastingVerbs.some((each) => each === verb)) return { reason, setting, remedy };
  return isConfirmed ? undefined : refusal;
}

/** A link in the directories of units: `symlink` was made, `unlink` was removed. */
export interface UnitFileChange {
  readonly type: string;
  readonly path: string;
  readonly target: string;
}

export interface FoundUnit extends Unit {
  readonly refusal: PolicyRefusal | undefined;
  /** Whether only the settings permit the restart. */
  readonly isWidened: boolean;
  /** Whether systemd does each on request, not only as a dependency; `reload` also needs a way to reload. */
  readonly can: Readonly<Record<UnitVerb, boolean>>;
  /** Whether its conditions held when systemd checked them last, at each start. */
  readonly isConditionMet: boolean;
  /** Another one with each start; empty for a unit that has not been started. */
  readonly invocation: string;
  /** systemd's Restart=; empty for a unit that is not a service. */
  readonly restart: string;
  /** The path of its unit file; empty where it has none. */
  readonly file: string;
  /** Where that leads, if it is a link (`systemctl link`); empty where it is not one, or masks the unit. */
  readonly linkedFile: string;
}

/** `result` is empty for kinds without one. */
export type FailedUnit = Pick<Unit, "name" | "result">;

/** The state of a unit of any kind. */
export interface UnitState extends Pick<Unit, "name" | "loadState" | "activeState" | "subState"> {
  /**
   * Whether it is active and has no reason to end by itself: not on demand, of a session, transient, or unneeded. False for units
   * that only group or mirror others (targets, slices, scopes, devices).
   */
  readonly staysActive: boolean;
  /** Whether a call of its bus name or a connection starts it: it may end while nobody needs it, also where something wants it. */
  readonly isOnDemand?: true;
  /** Whether it is active by a file of its own, not by one that systemd keeps for a program that asked for the unit. */
  readonly hasFile?: true;
  /** Ports at which systemd waits for a socket unit that is active. */
  readonly waitsAt?: readonly { readonly protocol: "tcp" | "udp"; readonly port: number }[];
}

/** A unit as it has just been read, which is judged as it was then; or its name, by which it is read first. */
export type NamedUnit = string | FoundUnit;

export type UnitFileJob = (unit: NamedUnit, confirmation?: Confirmation) => Promise<readonly UnitFileChange[]>;
export type UnitJob = (unit: NamedUnit, signal: AbortSignal, confirmation?: Confirmation) => Promise<string>;

export const nameOf = (unit: NamedUnit): string => (typeof unit === "string" ? unit : unit.name);

/** Every method throws {@link UnitsUnavailable} without an answer of systemd; where it does not run, units can only be listed. */
export interface Units {
  /** Why there are no units but those that are installed; undefined where systemd runs. */
  readonly absence?: string | undefined;
  /** Loaded and installed services by name, without aliases. Where systemd does not run, none is loaded. */
  readonly list: () => Promise<readonly Unit[]>;
  /** Loaded services, in no order; undefined where systemd does not run. */
  readonly loaded: () => Promise<readonly Unit[] | undefined>;
  /** Failed units of every kind; undefined where systemd does not run. */
  readonly failed: () => Promise<readonly FailedUnit[] | undefined>;
  /**
   * Loaded units of every kind, and those named, which systemd may have unloaded; undefined where systemd does not run.
   * What comes after the state is found out for active units alone.
   */
  readonly states: (also: readonly string[]) => Promise<readonly UnitState[] | undefined>;
  /** The current state, loading the unit if needed; loadState `not-found` for an unknown one. */
  readonly read: (name: string) => Promise<FoundUnit>;
  readonly resetFailed: (unit: NamedUnit, confirmation?: Confirmation) => Promise<void>;
  /**
   * Restarts the unit and waits for the job; never when the policy refuses.
   * @returns systemd's job result, `running` when the job takes longer. When the bus was lost meanwhile, the state of the unit has to
   * show the result, else it is `unknown`.
   * @throws UnitProtected.
   */
  readonly restart: UnitJob;
  /** As {@link Units.restart}. */
  readonly start: UnitJob;
  /** As {@link Units.restart}. */
  readonly stop: UnitJob;
  /** As {@link Units.restart}. */
  readonly reload: UnitJob;
  /**
   * Changes the links of a unit file, also those until the next boot, and has systemd read its units again.
   * @throws UnitProtected.
   */
  readonly enable: UnitFileJob;
  /** As {@link Units.enable}. */
  readonly disable: UnitFileJob;
  /** As {@link Units.enable}. */
  readonly mask: UnitFileJob;
  /** As {@link Units.enable}. */
  readonly unmask: UnitFileJob;
  /** The units that would change with this one, as far as they are loaded; the closest ones first. */
  readonly alsoChanged: (verb: UnitVerb, name: string) => Promise<readonly AlsoChanged[]>;
  /** Does not wait: for the unit of this process. @throws UnitProtected. */
  readonly restartDetached: (name: string) => Promise<void>;
  /** The unit when it has failed, or after the time and without a job that somebody else has started meanwhile. */
  readonly settled: (name: string, waitMs: number) => Promise<FoundUnit>;
}

/** systemd cannot be reached. */
export class UnitsUnavailable extends HostUnavailable {
  override readonly name = "UnitsUnavailable";

  /** @param retryable false where systemd does not run at all. */
  constructor(message: string, retryable: boolean, cause?: unknown) {
    super(message, { missing: "systemd", retryable }, cause);
  }
}

/** Why a unit cannot be enabled that no target asks for. */
export const notInstallable = {
  reason: "its unit file has no [Install] section for it, so only other units start it",
  remedy: "start it, or enable what starts it: its socket, timer or another service",
} as const;

/** systemd refuses the action for this unit. */
export class UnitRefused extends Error {
  override readonly name = "UnitRefused";
}

/** The policy refuses to change the unit. */
export class UnitProtected extends Error {
  override readonly name = "UnitProtected";
  readonly refusal: PolicyRefusal;

  constructor(refusal: PolicyRefusal) {
    super(`${refusal.reason} (${refusal.remedy})`);
    this.refusal = refusal;
  }
}

/** Why a unit is not started, stopped, restarted or reloaded. */
export interface UnitObstacle {
  readonly reason: string;
  readonly remedy?: string;
  readonly setting?: PolicyRefusal["setting"];
  readonly isConfirmable?: true;
}

const byDependencyOnly: Readonly<Record<UnitVerb, UnitObstacle>> = {
  start: { reason: "it may be requested by dependency only (RefuseManualStart= in its unit file)" },
  stop: { reason: "it may be stopped by dependency only (RefuseManualStop= in its unit file)" },
  restart: {
    reason: "it may be requested by dependency only (RefuseManualStart= or RefuseManualStop= in its unit file)",
  },
  reload: { reason: "its unit has no way to reload (ExecReload=)", remedy: "restart it instead" },
};

const runningStates: readonly string[] = ["active", "reloading", "refreshing"];

export const isRunning = ({ activeState }: Pick<Unit, "activeState">): boolean => runningStates.includes(activeState);

export function unitObstacle(
  verb: UnitVerb,
  unit: FoundUnit,
  confirmation: Confirmation = unconfirmed,
): UnitObstacle | undefined {
  // What was masked or damaged while it ran can still be stopped.
  const isForStop = verb === "stop";
  if (unit.loadState === "masked" && !isForStop) return { reason: "unit is masked", remedy: "unmask it first" };
  const refusal = refusalOf(unit, confirmation, verb);
  if (refusal !== undefined) return refusal;
  if (unit.loadState !== "loaded" && !isForStop)
    return {
      reason: `systemd cannot load the unit (${unit.loadState})`,
      remedy: `systemctl status ${unit.name} says why`,
    };
  if (verb === "reload" && !isRunning(unit))
    return { reason: `it does not run (${unit.activeState})`, remedy: "start it instead" };
  return unit.can[verb] ? undefined : byDependencyOnly[verb];
}

/** Wait after a job, so that a program that exits at once is noticed. */
const settleMs = 250;

export const hasCrashed = (unit: Unit): boolean => unit.activeState === "failed" || unit.subState === "auto-restart";

/** @throws UnitProtected. */
export async function changeUnit<V extends UnitVerb>(
  units: Pick<Units, "read" | "settled" | V>,
  verb: V,
  unit: NamedUnit,
  signal: AbortSignal,
  confirmation: Confirmation = unconfirmed,
): Promise<{ readonly jobResult: string; readonly after: FoundUnit }> {
  const name = nameOf(unit);
  const jobResult = await units[verb](unit, signal, confirmation);
  return { jobResult, after: await (jobResult === "done" ? units.settled(name, settleMs) : units.read(name)) };
}

/** An active systemd timer and the unit that it starts. Times are epoch milliseconds. */
export interface Timer {
  readonly name: string;
  readonly unit: string;
  /** Null before the first time. */
  readonly lastStartAt: number | null;
  /** Null while its unit runs, and where it does not start it again. */
  readonly nextStartAt: number | null;
  readonly unitActiveState: string;
  /** systemd's Result of the unit: `success`, `exit-code`, …; empty for kinds without one. */
  readonly unitResult: string;
  /** Of the last change of the unit's state. */
  readonly unitSince: number | null;
}

export interface Timers {
  /** In the order of their names; undefined where systemd does not run. @throws UnitsUnavailable without its answer. */
  readonly list: () => Promise<readonly Timer[] | undefined>;
}
