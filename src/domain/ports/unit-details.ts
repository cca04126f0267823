import type { PolicyRefusal, Unit } from "./units.ts";

/** Kinds of units that can be listed. */
export const unitKinds = ["service", "timer", "socket", "mount", "path", "target", "slice"] as const;
export type UnitKind = (typeof unitKinds)[number];

/** A file that makes up a unit. `text` is undefined where `withheld` says why. */
export interface UnitFile {
  readonly path: string;
  readonly text?: string;
  readonly withheld?: string;
}

/** A command of a service, and how it ended when it ran last. Times are epoch milliseconds. */
export interface UnitCommand {
  /** `ExecStart`, `ExecStartPre`, … */
  readonly setting: string;
  readonly argv: readonly string[];
  readonly ignoresFailure: boolean;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Null where it has not ended, or a signal ended it. */
  readonly exitCode: number | null;
}

export interface TimerFacts {
  readonly unit: string;
  readonly lastAt: number | null;
  readonly nextAt: number | null;
  /** What it goes by, such as `OnCalendar=*-*-* 06:00:00`. */
  readonly rules: readonly string[];
}

export interface SocketFacts {
  readonly units: readonly string[];
  readonly listens: readonly { readonly type: string; readonly address: string }[];
  readonly connections: number;
  readonly accepts: boolean;
}

export interface MountFacts {
  readonly what: string;
  readonly where: string;
  readonly type: string;
  readonly options: string;
}

export interface PathFacts {
  readonly unit: string;
  readonly rules: readonly { readonly condition: string; readonly path: string }[];
}

/** A unit of any of {@link unitKinds}, with the facts of its own kind. `loadState` is empty for a unit file that is not loaded. */
export interface KindUnit
  extends Pick<
    Unit,
    "name" | "description" | "loadState" | "activeState" | "subState" | "unitFileState" | "since" | "result"
  > {
  readonly kind: UnitKind;
  readonly timer?: TimerFacts;
  readonly socket?: SocketFacts;
  readonly mount?: MountFacts;
  readonly path?: PathFacts;
}

/** What can start a unit: a timer, socket or path, or another kind without facts of its own. */
export type Trigger = Pick<KindUnit, "name" | "activeState" | "timer" | "socket" | "path">;

/** Names of other units by the dependency that ties them to this one, in the words of systemd.unit(5). */
export type Dependencies = Readonly<Record<string, readonly string[]>>;

export interface UnitProcess {
  readonly pid: number;
  readonly command: string;
}

/** Figures of the control group; null where they are not accounted. */
export interface UnitUsage {
  readonly memoryPeakBytes: number | null;
  readonly memorySwapBytes: number | null;
  readonly cpuNs: number | null;
  readonly tasks: number | null;
  readonly ioReadBytes: number | null;
  readonly ioWriteBytes: number | null;
  readonly networkInBytes: number | null;
  readonly networkOutBytes: number | null;
}

/** Limits that were set; null for none. */
export interface UnitLimits {
  readonly memoryMaxBytes: number | null;
  readonly memoryHighBytes: number | null;
  readonly memorySwapMaxBytes: number | null;
  /** Of one processor. */
  readonly cpuPercent: number | null;
  readonly tasksMax: number | null;
  /** What processes start with, and what they may raise it to. */
  readonly openFiles: number | null;
  readonly openFilesMax: number | null;
  readonly processes: number | null;
  readonly runtimeMaxMs: number | null;
}

/** The run that is, or was last. */
export interface UnitLastRun {
  readonly startedAt: number | null;
  /** Null while it runs. */
  readonly endedAt: number | null;
  readonly exitCode: number | null;
  readonly signal: number | null;
}

/** Everything that systemd reports of a service. */
export interface InspectedService extends Unit {
  readonly names: readonly string[];
  readonly documentation: readonly string[];
  /** Why it could not be loaded; empty where it could. */
  readonly loadError: string;
  /** Whether its files have changed since systemd read them. */
  readonly needsReload: boolean;
  /** `Type=`, `Restart=`, `User=` and `Group=`; a user that is empty is root. */
  readonly type: string;
  readonly restart: string;
  readonly user: string;
  readonly group: string;
  readonly busName: string;
  readonly slice: string;
  readonly controlGroup: string;
  readonly invocation: string;
  /** What the service says of itself. */
  readonly statusText: string;
  readonly refusal: PolicyRefusal | undefined;
  readonly fragment: UnitFile | undefined;
  readonly dropIns: readonly UnitFile[];
  /** The file that a generator made the unit of; empty for none. */
  readonly sourcePath: string;
  readonly commands: readonly UnitCommand[];
  /** Conditions and assertions that did not hold when they were last inspected. */
  readonly unmet: readonly string[];
  readonly dependencies: Dependencies;
  readonly triggers: readonly Trigger[];
  readonly usage: UnitUsage;
  readonly limits: UnitLimits;
  /** The first ones, and how many there are. */
  readonly processes: readonly UnitProcess[];
  readonly processesTotal: number;
  readonly lastRun: UnitLastRun;
}

export interface KindQuery {
  readonly kinds: readonly UnitKind[];
  /** Undefined for all. */
  readonly activeState: string | undefined;
  readonly limit: number;
}

/** Both throw {@link UnitsUnavailable} without an answer of systemd. */
export interface UnitDetails {
  /** As that of `Units`. */
  readonly absence?: string | undefined;
  /** A service, by any of its names; loadState `not-found` for an unknown one. */
  readonly inspect: (name: string) => Promise<InspectedService>;
  /**
   * Loaded and installed units of these kinds by name, without aliases, and how many match before the limit. Where systemd does not run,
   * none is loaded.
   */
  readonly list: (query: KindQuery) => Promise<{ readonly units: readonly KindUnit[]; readonly total: number }>;
}

/** How much a service could do to the host if it were taken over, in systemd's judgement. */
export interface Exposure {
  /** 0 (nothing) to 10 (everything). */
  readonly score: number;
  /** systemd's word for it: `OK`, `MEDIUM`, `EXPOSED`, `UNSAFE`, … */
  readonly level: string;
}

export interface BoundSocket {
  readonly protocol: "tcp" | "udp";
  readonly address: string;
  readonly port: number;
}

/** What a program of the host must be started for. Both throw where it cannot be found out. */
export interface UnitExamination {
  readonly exposure: (name: string, signal: AbortSignal) => Promise<Exposure>;
  /** What processes of a control group and of those below it listen on. */
  readonly listening: (controlGroup: string, signal: AbortSignal) => Promise<readonly BoundSocket[]>;
}
