import { Command, CommanderError } from "commander";
import { ApiError } from "#client/index.ts";
import { addAlertsCommands } from "./alerts.ts";
import { addCheckCommand } from "./check.ts";
import type { LocalService, ServiceOptions } from "./connect.ts";
import { connect } from "./connect.ts";
import { addKeysCommands } from "./keys.ts";
import { nagiosUnknown, speaksNagios, unknownCode } from "./nagios.ts";
import { addNotifyCommands } from "./notify.ts";
import { addObservabilityCommands } from "./observability.ts";
import type { StackHost } from "./observability-files.ts";
import type { Io } from "./output.ts";
import { exitCode, printJson } from "./output.ts";
import { callPlugin, type PluginCall, pluginCallOf } from "./plugin-call.ts";
import { patientFetch } from "./plugin-fetch.ts";
import type { PluginReport } from "./plugins.ts";
import { addPluginsCommands } from "./plugins.ts";
import { addTaskCommand, type TaskOutcome } from "./task.ts";

export type { StackHost } from "./observability-files.ts";
export type { Io } from "./output.ts";
export { readInput } from "./plugin-input.ts";
export type { PluginReport } from "./plugins.ts";

/** One fault of the settings, ready to print. */
export interface SettingsReport {
  readonly file: string | undefined;
  readonly faults: readonly { readonly text: string }[];
  readonly warnings: readonly string[];
}

/** What the command line does in this process instead of asking the service; the composition root gives it. */
export interface LocalCommands {
  /** Runs the service until it is told to stop. */
  readonly serve: (options: { config?: string; newAdminKey?: boolean; safeMode?: boolean }) => Promise<void>;
  /** Does an operation that has been written down. */
  readonly runTask: (id: string) => Promise<TaskOutcome>;
  readonly checkConfig: (file: string | undefined) => Promise<SettingsReport>;
  readonly localService: () => Promise<LocalService>;
  /** What the service would say of a folder with a plugin. */
  readonly checkPlugin: (folder: string) => Promise<PluginReport>;
  /** This host, for the files of the observability stack, with the service at another address where one is given. */
  readonly stackHost: (url: string | undefined) => Promise<StackHost>;
  /** What is on standard input; undefined at a terminal. */
  readonly readInput: () => Promise<string | undefined>;
}

/** The address and the key may stand before or after the subcommand. */
const serviceOptions = (command: Command): ServiceOptions => command.optsWithGlobals();

function addConfigCommands(program: Command, io: Io, local: LocalCommands, finish: (code: number) => void): void {
  const config = program.command("config").description("look at the settings");
  config
    .command("check")
    .description("print every fault of the settings with file, line and path")
    .option("--config <file>", "settings file")
    .option("--json", "print the report as JSON")
    .action(async (options: { config?: string; json?: boolean }) => {
      const report = await local.checkConfig(options.config);
      const { file, faults, warnings } = report;
      finish(faults.length === 0 ? exitCode.fine : exitCode.foundTrouble);
      if (options.json) return printJson(io, report);
      for (const { text } of faults) io.out(`${text}\n`);
      for (const warning of warnings) io.out(`warning: ${warning}\n`);
      if (faults.length === 0) io.out(`${file ?? "built-in defaults"}: no fault\n`);
    });
}

function explain(error: unknown): string {
  if (error instanceof ApiError)
    return `${error.message} (${error.code}${error.requestId === undefined ? "" : `, request ${error.requestId}`})`;
  if (error instanceof TypeError && error.cause instanceof Error)
    return `cannot reach the service: ${error.cause.message} (is it running?)`;
  if (error instanceof DOMException && error.name === "TimeoutError")
    return "cannot reach the service: no answer in time (--timeout says how long to wait)";
  return error instanceof Error ? error.message : String(error);
}

/**
 * Runs one command.
 * @returns its exit code: 0 fine, 1 found trouble, 2 could not run; with `--nagios` that of a monitoring plugin.
 */
export async function runCli(ports: {
  argv: readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
  version: string;
  io: Io;
  now: () => number;
  local: LocalCommands;
}): Promise<number> {
  const { argv, environment, version, io, now, local } = ports;
  let code: number = exitCode.fine;
  // A plugin says what went wrong on its only line.
  let isPlugin = speaksNagios(argv);
  const program = new Command("steward")
    .description("Looks after this Linux host: serves the API, and asks it.")
    .version(version)
    .option("--url <address>", "address of the service (STEWARD_URL; the local one when left out)")
    .option("--key-file <file>", "file that holds the key (or STEWARD_API_KEY; the local admin key when left out)")
    .configureOutput({ writeOut: io.out, writeErr: (text) => (isPlugin ? undefined : io.err(text)) })
    .showHelpAfterError("(--help says more)")
    .addHelpText("after", "\nAn enabled command plugin is a command too: steward <plugin> [argument...]")
    .exitOverride();

  program
    .command("serve")
    .description("run the service")
    .option("--config <file>", "settings file (STEWARD_CONFIG; /etc/steward/config.yaml where it exists)")
    .option("--new-admin-key", "make a further admin key at the start, for when the first one was lost")
    .option("--safe-mode", "start without any plugin")
    .action((options: { config?: string; newAdminKey?: boolean; safeMode?: boolean }) => local.serve(options));
  addKeysCommands(program, {
    io,
    now,
    client: (command) => connect({ options: serviceOptions(command), environment, local: local.localService }),
  });
  const finish = (result: number): void => {
    code = result;
  };
  addTaskCommand(program, {
    runTask: local.runTask,
    finish(result) {
      code = result;
    },
  });
  addConfigCommands(program, io, local, finish);
  const client = (command: Command) =>
    connect({ options: serviceOptions(command), environment, local: local.localService });
  addAlertsCommands(program, { io, now, finish, client });
  addNotifyCommands(program, { io, finish, client });
  addObservabilityCommands(program, {
    io,
    stackHost: local.stackHost,
    givenUrl: (command) => serviceOptions(command).url ?? environment["STEWARD_URL"],
  });
  addCheckCommand(program, {
    io,
    finish,
    client: (command, signal) =>
      connect({ options: serviceOptions(command), environment, local: local.localService, signal }),
  });

  addPluginsCommands(program, {
    io,
    environment,
    finish,
    client: (command) => connect({ options: serviceOptions(command), environment, local: local.localService }),
    checkPlugin: local.checkPlugin,
  });

  const runPlugin = (call: PluginCall): Promise<void> => {
    program.parseOptions([...call.before]);
    return callPlugin(call, {
      io,
      finish,
      client: () =>
        connect({ options: serviceOptions(program), environment, local: local.localService, fetch: patientFetch }),
      readInput: local.readInput,
      explain,
      async unknownCommand(others) {
        for (const { name, description } of others) program.command(name).description(description);
        await program.parseAsync([call.name], { from: "user" });
      },
    });
  };

  const call = pluginCallOf(program, argv);
  // Those words are meant for somebody else then.
  if (call !== undefined) isPlugin = false;
  try {
    await (call === undefined ? program.parseAsync([...argv], { from: "user" }) : runPlugin(call));
    return code;
  } catch (error) {
    if (isPlugin) {
      // Help has been printed by now, and is no result.
      if (!(error instanceof CommanderError && error.exitCode === 0)) io.out(`${nagiosUnknown(explain(error))}\n`);
      return unknownCode;
    }
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.fine : exitCode.couldNotRun;
    io.err(`steward: ${explain(error)}\n`);
    return exitCode.couldNotRun;
  }
}
