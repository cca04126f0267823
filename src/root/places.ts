import { accessSync, constants, lstatSync } from "node:fs";

/**
 * Where a service without rights and root's tasks keep what is theirs, as the package makes it. Root writes nothing below a folder
 * of the service, and the service nothing below one of root's.
 */
export const places = {
  /** Of the service. */
  stateDir: "/var/lib/steward",
  runDir: "/run/steward-service",
  /** Of root; the group of the service may read. */
  tasksDir: "/var/lib/steward-tasks",
  answersDir: "/run/steward-tasks",
  /** Of root: the plugins that it lets run as root. */
  confirmedDir: "/var/lib/steward-tasks/confirmed-plugins",
} as const;

/** The unit of the service, as the package installs it. */
export const serviceUnit = "steward.service";
/** In the folder of root's answers, which a boot empties: an operation was done, so that the end of the service may be of interest. */
export const carryName = "carry";
/** In the run folder of a service that was started without plugins. */
export const safeModeName = "safe-mode";

/** Whether this process is the service for which the package has made the door: who it is, and what lets it in, is root's to say. */
export function isAtDoor(stateDir: string): boolean {
  const uid = process.getuid?.() ?? 0;
  if (uid === 0 || stateDir !== places.stateDir) return false;
  const ownerOf = (path: string): number | undefined => lstatSync(path, { throwIfNoEntry: false })?.uid;
  if (ownerOf(places.answersDir) !== 0 || ownerOf(places.tasksDir) !== 0 || ownerOf(places.runDir) !== uid)
    return false;
  try {
    accessSync(places.answersDir, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    // Another user's service: the door is not for it.
    return false;
  }
}
