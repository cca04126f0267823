import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { Type } from "typebox";

export type Environment = Readonly<Record<string, string | undefined>>;

const defaultConfigFile = "/etc/steward/config.yaml";

export const defaultListen = "127.0.0.1:8470";

/** The settings file: as named, else of the environment, else the default where it exists. */
export function configFile(named: string | undefined, environment: Environment): string | undefined {
  return named ?? environment["STEWARD_CONFIG"] ?? (existsSync(defaultConfigFile) ? defaultConfigFile : undefined);
}

export function defaultStateDir(environment: Environment, isRoot: boolean): string {
  if (isRoot) return "/var/lib/steward";
  return join(environment["XDG_STATE_HOME"] ?? join(homedir(), ".local/state"), "steward");
}

export const strict = { additionalProperties: false } as const;
export const text = (description: string) => Type.String({ minLength: 1, description });
