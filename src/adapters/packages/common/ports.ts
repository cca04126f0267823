import { join } from "node:path";
import type { Exec } from "#adapters/exec/index.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { Clock } from "#kernel/clock.ts";

export const hostPlaces = { booted: "/run/systemd/system", output: "/run/steward-packages" };

export interface PackagePorts {
  readonly exec: Exec;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly lockWaitMs?: number;
  readonly places?: typeof hostPlaces;
  /** Of another system than the one that runs. */
  readonly root?: string;
}

export interface ManagerPorts extends PackagePorts {
  readonly needsReboot: (signal: AbortSignal) => Promise<boolean>;
  /** Where answers are cached, and marks that are to be set survive a power cut. */
  readonly stateDir?: string;
}

/** The directory for what a process after a reboot has to know. */
export const keptDirectory = ({ stateDir, places = hostPlaces }: ManagerPorts): string =>
  stateDir === undefined ? places.output : join(stateDir, "packages");

/** A package manager that a host may have: all that one directory beside this one exports. */
export interface Backend {
  readonly program: string;
  /** A question that is answered wherever it works, no matter who asks. */
  readonly probe: Argv;
  /** Files or directories that change when packages do, where they are there. */
  readonly databases: readonly string[];
  readonly open: (ports: ManagerPorts) => PackageManager;
}

export type Argv = readonly [program: string, ...args: string[]];
export type OnLine = ((line: string) => void) | undefined;
export type Asks<T> = (signal: AbortSignal) => Promise<T>;
