import { parse } from "yaml";
import { readRegularFile } from "#adapters/files/index.ts";
import { isRecord } from "#kernel/values.ts";
import { configFile, defaultListen, defaultStateDir, type Environment } from "./defaults.ts";
import type { Config } from "./load.ts";
import { parseListen } from "./text.ts";

export type LocalSettings = Pick<Config, "listen" | "stateDir"> & { readonly tls: "off" | "auto" | "given" };

const textOr = (value: unknown, preset: string): string | undefined => {
  if (value === undefined) return preset;
  return typeof value === "string" ? value : undefined;
};

function tlsOf(value: unknown): LocalSettings["tls"] | undefined {
  if (value === undefined || value === "off") return "off";
  if (value === "auto") return "auto";
  return isRecord(value) ? "given" : undefined;
}

/**
 * Reads only what a client has to know, without the schema: compiling it takes longer than a request to the service.
 * @returns undefined where something is odd: {@link loadConfig} reports it.
 */
export function readLocalSettings(environment: Environment, isRoot: boolean): LocalSettings | undefined {
  const file = configFile(undefined, environment);
  let settings: unknown = {};
  if (file !== undefined) {
    try {
      settings = parse(readRegularFile(file).content.toString("utf8")) ?? {};
    } catch {
      return undefined;
    }
  }
  if (!isRecord(settings)) return undefined;
  const listenText = environment["STEWARD_LISTEN"] ?? textOr(settings["listen"], defaultListen);
  const stateDir =
    environment["STEWARD_STATE_DIR"] ?? textOr(settings["state_dir"], defaultStateDir(environment, isRoot));
  const listen = listenText === undefined ? undefined : parseListen(listenText);
  const tls = tlsOf(settings["tls"]);
  return listen === undefined || stateDir === undefined || tls === undefined ? undefined : { listen, stateDir, tls };
}
