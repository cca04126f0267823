import type { TimeSync } from "#domain/ports/host.ts";
import type { Journal } from "#domain/ports/journal.ts";
import type { PackageManager } from "#domain/ports/packages.ts";
import type { DiskCleanup, FileSystems } from "#domain/ports/storage.ts";
import type { Units } from "#domain/ports/units.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Fix } from "./fix.ts";
import { applySecurityUpdatesFix, type SecurityUpdater } from "./fixes/apply-security-updates.ts";
import { aptFixDependenciesFix } from "./fixes/apt-fix-dependencies.ts";
import { aptFixDpkgFix } from "./fixes/apt-fix-dpkg.ts";
import { diskCleanupFix } from "./fixes/disk-cleanup.ts";
import { enableTimeSyncFix } from "./fixes/enable-time-sync.ts";
import { refreshPackageListsFix } from "./fixes/refresh-package-lists.ts";
import { systemdRestartFailedFix } from "./fixes/systemd-restart-failed.ts";
import { vacuumJournalFix } from "./fixes/vacuum-journal.ts";

export interface FixPorts {
  /** Undefined without a supported one. */
  readonly packages: PackageManager | undefined;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  readonly units: Pick<Units, "read" | "resetFailed" | "restart" | "settled">;
  readonly ownUnit: string | undefined;
  readonly time: TimeSync;
  readonly journal: Pick<Journal, "size" | "canRotate" | "rotate" | "vacuum">;
  readonly cleanup: DiskCleanup;
  readonly fileSystems: Pick<FileSystems, "holding">;
  /** Undefined in a process that begins no operations. */
  readonly security?: SecurityUpdater | undefined;
}

export function builtInFixes({ security, ...ports }: FixPorts): readonly Fix[] {
  return [
    diskCleanupFix(ports),
    vacuumJournalFix(ports),
    systemdRestartFailedFix(ports),
    enableTimeSyncFix(ports),
    aptFixDpkgFix(ports),
    aptFixDependenciesFix(ports),
    refreshPackageListsFix(ports),
    ...(security === undefined ? [] : [applySecurityUpdatesFix({ security })]),
  ];
}
