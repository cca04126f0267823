import { join } from "node:path";
import { defaultStateDir, type Environment } from "./load.ts";

/** Where the package has systemd make the sockets. */
const packagedSocketDir = "/run/steward";

/** The names of the two sockets in their directory. */
const membersSocketName = "steward.sock";
const administratorSocketName = (isRoot: boolean): string => (isRoot ? "root.sock" : "owner.sock");

/**
 * The directory of the Unix sockets of a service that makes them itself: the usual one of its user, or the state directory where
 * that is another than usual, so that each service has its own.
 */
function socketDir(stateDir: string, environment: Environment, isRoot: boolean): string {
  if (stateDir !== defaultStateDir(environment, isRoot)) return stateDir;
  const { XDG_RUNTIME_DIR: runtimeDir } = environment;
  return isRoot ? packagedSocketDir : runtimeDir?.startsWith("/") ? join(runtimeDir, "steward") : stateDir;
}

/** The sockets of a service that makes them itself. */
export function ownSockets(
  stateDir: string,
  environment: Environment,
  isRoot: boolean,
): { readonly members: string; readonly administrator: string } {
  const dir = socketDir(stateDir, environment, isRoot);
  return { members: join(dir, membersSocketName), administrator: join(dir, administratorSocketName(isRoot)) };
}

/** The sockets where a client may find the service of this host, the first that is there. */
export interface SocketPlaces {
  /** Nobody but the user that runs the client can open these, and no key is needed. */
  readonly administrator: readonly string[];
  /** Those of the group, which take a key. */
  readonly members: readonly string[];
}

/** @param stateDir of the service that the client means. */
export function socketPlaces(stateDir: string, environment: Environment, isRoot: boolean): SocketPlaces {
  const own = socketDir(stateDir, environment, isRoot);
  // Whoever says where the service is means no other one.
  const isOther =
    isRoot || environment["STEWARD_STATE_DIR"] !== undefined || environment["STEWARD_LISTEN"] !== undefined;
  const shared = stateDir === "/var/lib/steward" || !isOther ? [packagedSocketDir] : [];
  return {
    administrator: [join(own, administratorSocketName(isRoot))],
    members: [...new Set([own, ...shared])].map((dir) => join(dir, membersSocketName)),
  };
}
