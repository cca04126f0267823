import { isAbsolute, join } from "node:path";
import { readRegularFile } from "#adapters/files/index.ts";
import { defaultStateDir, type Environment } from "./defaults.ts";
import { absolutePath, type Fault, type FaultAt } from "./faults.ts";
import type { Settings } from "./settings.ts";

/** The package's systemd sockets. */
const packagedSocketDir = "/run/steward";

const membersSocketName = "steward.sock";
const administratorSocketName = (isRoot: boolean): string => (isRoot ? "root.sock" : "owner.sock");

/** The directory of sockets that the service makes itself: the usual one, or the state directory where that is not the default. */
function socketDir(stateDir: string, environment: Environment, isRoot: boolean): string {
  if (stateDir !== defaultStateDir(environment, isRoot)) return stateDir;
  const { XDG_RUNTIME_DIR: runtimeDir } = environment;
  return isRoot ? packagedSocketDir : runtimeDir?.startsWith("/") ? join(runtimeDir, "steward") : stateDir;
}

export function ownSockets(
  stateDir: string,
  environment: Environment,
  isRoot: boolean,
): { readonly members: string; readonly administrator: string } {
  const dir = socketDir(stateDir, environment, isRoot);
  return { members: join(dir, membersSocketName), administrator: join(dir, administratorSocketName(isRoot)) };
}

export interface SocketPlaces {
  /** Only the client's user can open these; they need no key. */
  readonly administrator: readonly string[];
  /** Those of the group, which take a key. */
  readonly members: readonly string[];
}

/** @param stateDir of the service that the client means. */
export function socketPlaces(stateDir: string, environment: Environment, isRoot: boolean): SocketPlaces {
  const own = socketDir(stateDir, environment, isRoot);
  // A service that is named explicitly is the only one meant.
  const isOther =
    isRoot || environment["STEWARD_STATE_DIR"] !== undefined || environment["STEWARD_LISTEN"] !== undefined;
  const shared = stateDir === "/var/lib/steward" || !isOther ? [packagedSocketDir] : [];
  return {
    administrator: [join(own, administratorSocketName(isRoot))],
    members: [...new Set([own, ...shared])].map((dir) => join(dir, membersSocketName)),
  };
}

const maxBytes = 64 * 1024;

export const adminKeyFile = "admin.key";

/** Reports the process of an operation that plugins are off. */
export const safeModeVariable = "STEWARD_SAFE_MODE";

export interface ServiceFile {
  readonly text: string;
  readonly uid: number;
}

/**
 * Reads a file in the state directory for a user with more rights than the service, which may have replaced it: follows no links and
 * blocks on nothing. @throws FileUnreadable.
 */
export function readServiceFile(path: string): ServiceFile {
  const { content, stat } = readRegularFile(path, { followsLinks: false, maxBytes });
  return { text: content.toString("utf8"), uid: stat.uid };
}

type Given = Pick<Settings, "runbooks">;

export const runbookDirectory = ({ runbooks: { directory = "/etc/steward/runbooks" } = {} }: Given): string =>
  directory;

export const runbookFaults = (settings: Given, faultAt: FaultAt): readonly Fault[] =>
  isAbsolute(runbookDirectory(settings)) ? [] : [faultAt(["runbooks", "directory"], absolutePath)];
