import type { Exec } from "#adapters/exec/index.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";

export const hostPlaces = { booted: "/run/systemd/system", output: "/run/steward-packages" };

export interface PackagePorts {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly lockWaitMs?: number;
  readonly places?: typeof hostPlaces;
}

export type Repairs = Pick<PackageManager, "finish" | "planMissing" | "installMissing">;

export interface ManagerPorts extends PackagePorts {
  readonly needsReboot: (signal: AbortSignal) => Promise<boolean>;
}

export type Argv = readonly [program: string, ...args: string[]];
export type OnLine = ((line: string) => void) | undefined;
export type Asks<T> = (signal: AbortSignal) => Promise<T>;
