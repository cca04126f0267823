import type { PluginEnd } from "#domain/ports/plugins.ts";
import { driver } from "../program.ts";
import type { Session } from "./session.ts";

/** A plugin to be called in the guest. */
export interface PluginWork {
  readonly dir: string;
  readonly directory: string;
  readonly args?: readonly string[];
  readonly stdin?: string;
}

/** What came of it: a fault of its directory, an end, or why it has none. */
export interface PluginAnswer {
  readonly fault?: string;
  readonly end?: PluginEnd & { readonly outputBytes: number };
  readonly notRun?: string;
  readonly digest?: string;
}

export const pluginDir = "/etc/steward/plugins";

/** The words that call a plugin in the guest. */
export const pluginCommand = (work: Omit<PluginWork, "dir">): readonly string[] => [
  ...driver("run-plugin"),
  JSON.stringify({ dir: pluginDir, ...work }),
];

/** Calls a plugin in the guest as the service would. */
export async function callPlugin(
  { host }: Pick<Session, "host">,
  directory: string,
  options: Omit<PluginWork, "dir" | "directory"> = {},
): Promise<PluginAnswer> {
  const { stdout } = await host.exec(pluginCommand({ directory, ...options }), { timeoutMs: 300_000 });
  return JSON.parse(stdout) as PluginAnswer;
}

/** Writes a plugin: its program, and of its manifest what differs from the least there can be. */
export async function writePlugin(
  { host }: Pick<Session, "host">,
  name: string,
  program: string,
  manifest: readonly string[] = [],
): Promise<void> {
  const directory = `${pluginDir}/${name}`;
  const type = manifest.some((line) => line.startsWith("type:")) ? [] : ["type: command"];
  const least = [`name: ${name}`, 'version: "1"', ...type, "exec: run"];
  await host.writeFile(`${directory}/plugin.yaml`, `${[...least, ...manifest].join("\n")}\n`, 0o644);
  await host.writeFile(`${directory}/run`, program, 0o755);
  await host.exec(["chmod", "-R", "go-w,a+rX", pluginDir]);
}
