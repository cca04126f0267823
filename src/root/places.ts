import { accessSync, constants, lstatSync } from "node:fs";
import { dirname } from "node:path";
import { isSticky, isWritableByOthers } from "#adapters/files/index.ts";
import { orElse } from "#kernel/errors.ts";

/** Root writes nothing below a directory of the service, and the service nothing below one of root's. */
export const places = {
  stateDir: "/var/lib/steward",
  runDir: "/run/steward-service",
  /** Of root; the group of the service may read. */
  tasksDir: "/var/lib/steward-tasks",
  /** Of root; the group of the service may enter. */
  tasksRunDir: "/run/steward-tasks",
  /** Made by systemd; only the user of the service may open it. */
  socket: "/run/steward-tasks/requests.sock",
  /** Of root: the plugins that it lets run as root. */
  confirmedDir: "/var/lib/steward-tasks/confirmed-plugins",
} as const;

export const serviceUnit = "steward.service";
/** In the run directory of a service that was started without plugins. */
export const safeModeName = "safe-mode";

/** Whether this process is the service for which the package has installed root's side: who it is, is root's to say. */
export function hasRootSide(stateDir: string): boolean {
  const uid = process.getuid?.() ?? 0;
  if (uid === 0 || stateDir !== places.stateDir) return false;
  const ownerOf = (path: string): number | undefined => lstatSync(path, { throwIfNoEntry: false })?.uid;
  if (ownerOf(places.tasksRunDir) !== 0 || ownerOf(places.tasksDir) !== 0 || ownerOf(places.runDir) !== uid)
    return false;
  return orElse(() => accessSync(places.tasksRunDir, constants.X_OK) === undefined, false);
}

/** Root's settings, and what leads to them, must be root's own. @throws Error with a remedy. */
export function requireRootSettings(file: string): void {
  for (let path = file; ; path = dirname(path)) {
    const stat = lstatSync(path);
    const isShared = path !== file && isSticky(stat);
    const why = stat.isSymbolicLink()
      ? "it is a link (put the file itself there)"
      : stat.uid !== 0
        ? `it belongs to user ${stat.uid} (chown root ${path})`
        : isWritableByOthers(stat) && !isShared
          ? `others may change it (chmod go-w ${path})`
          : undefined;
    if (why !== undefined) throw new Error(`cannot use the settings ${file} as root: ${path}: ${why}`);
    if (path === dirname(path)) return;
  }
}
