/** The kernel's table of connections, of the network namespace of the service. */
export interface Conntrack {
  /** Undefined where the kernel does not track connections, or does not say how many it may. */
  readonly usage: () => Promise<{ readonly entries: number; readonly maximum: number } | undefined>;
}

/** What the kernel remembers of its trouble until the next boot. */
export interface KernelTaint {
  /** A bit for each reason, in the kernel's Documentation/admin-guide/tainted-kernels.rst. */
  readonly flags: () => Promise<number>;
}

/** A process and the files that it has open. */
export interface ProcessFilesUse {
  readonly pid: number;
  readonly name: string;
  readonly open: number;
  /** How many it may have open: the soft limit, RLIMIT_NOFILE. */
  readonly limit: number;
}

export interface ProcessFiles {
  /** Processes with 50 files or more, those nearest to their limits first; without those that may not be looked at. */
  readonly busiest: (most: number) => Promise<readonly ProcessFilesUse[]>;
}

/** The memory of a unit of systemd, by its control group. */
export interface UnitMemory {
  readonly name: string;
  /** Without file caches and others that the kernel can free at once. */
  readonly usedBytes: number;
  /** Null without a limit of its own. */
  readonly limitBytes: number | null;
  /** Processes of it that the OOM killer has killed since it was started. */
  readonly oomKills: number;
}

export interface UnitMemories {
  /** Services and scopes that run; undefined where memory is not counted by unit (cgroup v1, or no memory controller). */
  readonly list: () => Promise<readonly UnitMemory[] | undefined>;
}

/** Shares of the time in percent. */
export interface Stall {
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface ResourcePressure {
  readonly resource: "cpu" | "memory" | "io";
  /** When at least one task waited. */
  readonly some: Stall;
  /** When every task that was not idle waited; null where the kernel does not say. */
  readonly full: Stall | null;
}

/** How long tasks wait for a resource: the kernel's pressure stall information. */
export interface Pressure {
  /** Undefined without it in the kernel. */
  readonly read: () => Promise<readonly ResourcePressure[] | undefined>;
}

/** A temperature sensor of the kernel's hwmon. */
export interface TemperatureSensor {
  /** Chip and label: `coretemp Package id 0`. */
  readonly name: string;
  readonly celsius: number;
  /** At which the hardware protects itself; null where it does not say, or nothing that can be. */
  readonly criticalCelsius: number | null;
  /** Whether the hardware itself says that it is reached. */
  readonly isAlarming: boolean;
}

/** A sensor that does not answer: asleep, not connected, or one whose driver refuses. */
export interface UnreadableSensor {
  readonly name: string;
  /** The code of the system's refusal, `ENXIO`. */
  readonly unreadable: string;
}

export interface Temperatures {
  /** None on machines without sensors, such as virtual ones. Each has a name of its own. */
  readonly list: () => Promise<readonly (TemperatureSensor | UnreadableSensor)[]>;
}
