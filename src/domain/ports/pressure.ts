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
