import type { Exec } from "#adapters/exec/index.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";

/** Where systemd says that it runs, and where the units of transactions write their output. */
export const hostPlaces = { booted: "/run/systemd/system", output: "/run/steward-packages" };

export interface PackagePorts {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** How long a lock that somebody else holds is waited for. */
  readonly lockWaitMs?: number;
  readonly places?: typeof hostPlaces;
}

/** What the fixes of the package manager's own troubles call. */
export type Repairs = Pick<PackageManager, "finish" | "planMissing" | "installMissing">;

/** What a package manager takes besides. */
export interface ManagerPorts extends PackagePorts {
  /** Whether the host has to be rebooted for what is installed to run. */
  readonly needsReboot: (signal: AbortSignal) => Promise<boolean>;
}

/** A program and its arguments. */
export type Argv = readonly [program: string, ...args: string[]];
export type OnLine = ((line: string) => void) | undefined;
export type Asks<T> = (signal: AbortSignal) => Promise<T>;
