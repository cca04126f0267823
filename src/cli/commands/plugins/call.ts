import { ApiError, type Client } from "#client/index.ts";
import { type Plugin, pluginNamePattern } from "#contract/plugins.ts";
import type { Command } from "../../core/command.ts";
import type { Io } from "../../output/output.ts";

export interface PluginCall {
  readonly name: string;
  /** All that follows the name: options among them are the plugin's own. */
  readonly args: readonly string[];
  readonly before: readonly string[];
}

/** Finds the first word that is not an option of the program; undefined where commander handles it. */
export function pluginCallOf(program: Command, argv: readonly string[]): PluginCall | undefined {
  const takesValue = (word: string): boolean =>
    program.options.some(({ required, long }) => required && long === word.split("=", 1)[0]);
  let at = 0;
  for (let word = argv[at]; word?.startsWith("-"); word = argv[at]) {
    if (!takesValue(word)) return undefined;
    at += word.includes("=") ? 1 : 2;
  }
  const name = argv[at];
  if (name === undefined || !new RegExp(pluginNamePattern).test(name)) return undefined;
  if (name === "help" || program.commands.some((command) => command.name() === name)) return undefined;
  return { name, args: argv.slice(at + 1), before: argv.slice(0, at) };
}

interface Ports {
  readonly io: Io;
  readonly finish: (code: number) => void;
  readonly client: () => Promise<Client>;
  readonly readInput: () => Promise<string | undefined>;
  /** Reports that there is no such command, suggesting the nearest of these and of the program's own. */
  readonly unknownCommand: (others: readonly Pick<Plugin, "name" | "description">[]) => Promise<void>;
  readonly explain: (error: unknown) => string;
}

function refusal({ name, type, enabled }: Plugin): Error | undefined {
  if (type === "check") return new Error(`${name} is a check: steward check ${name}`);
  if (type === "hook") return new Error(`${name} is a hook: the service calls it by itself`);
  return enabled ? undefined : new Error(`the plugin ${name} is not enabled: steward plugins enable ${name}`);
}

const isCommand = ({ type, enabled }: Plugin): boolean => type === "command" && enabled;

/** The plugins; undefined where the key may not see them. */
async function listed(service: Client): Promise<readonly Plugin[] | undefined> {
  try {
    return (await service.listPlugins()).plugins;
  } catch (error) {
    // A key that may only run plugins is enough to run one.
    if (error instanceof ApiError && error.code === "FORBIDDEN") return undefined;
    throw error;
  }
}

async function run(service: Client, { name, args }: PluginCall, { io, finish, readInput }: Ports) {
  const stdin = await readInput();
  const body = { args: [...args], ...(stdin !== undefined && stdin !== "" && { stdin }) };
  const { exit_code, stdout, stderr, truncated } = await service
    .runPlugin({ params: { name }, body })
    .catch((error: unknown) => {
      // What it wrote before it was ended.
      const { stdout: written, stderr: complaints } = (error instanceof ApiError ? error.details : undefined) ?? {};
      if (typeof written === "string") io.out(written);
      if (typeof complaints === "string") io.err(complaints);
      throw error;
    });
  io.out(stdout);
  io.err(stderr);
  if (truncated) io.err(`steward: ${name} printed more than it may, the rest was dropped\n`);
  finish(exit_code);
}

/** `steward <plugin> [argument...]`: runs a command plugin of the service and ends with its exit code. */
export async function callPlugin(call: PluginCall, ports: Ports): Promise<void> {
  const { io, client, unknownCommand, explain } = ports;
  let service: Client;
  let plugins: readonly Plugin[] | undefined;
  try {
    service = await client();
    plugins = await listed(service);
  } catch (error) {
    // A mistyped command is more likely than a plugin of a service that does not answer.
    io.err(`steward: cannot ask for a plugin ${call.name}: ${explain(error)}\n`);
    return unknownCommand([]);
  }
  const plugin = plugins?.find(({ name }) => name === call.name);
  if (plugins !== undefined && plugin === undefined) return unknownCommand(plugins.filter(isCommand));
  const refused = plugin && refusal(plugin);
  if (refused) throw refused;
  try {
    await run(service, call, ports);
  } catch (error) {
    if (error instanceof ApiError && error.code === "NOT_FOUND") return unknownCommand([]);
    throw error;
  }
}
