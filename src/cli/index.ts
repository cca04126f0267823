import { CommanderError } from "commander";
import { sleep } from "#client/http.ts";
import { createClient, WaitsForApproval } from "#client/index.ts";
import { lazy } from "#kernel/async.ts";
import { defined } from "#kernel/values.ts";
import { awaitApproval } from "./commands/approvals.ts";
import { nagiosUnknown, speaksNagios, unknownCode } from "./commands/check.ts";
import { callPlugin, type PluginCall, pluginCallOf } from "./commands/plugins/call.ts";
import type { HostRun } from "./contexts/ask.ts";
import { severalHosts } from "./contexts/choice.ts";
import { planningFetch } from "./contexts/guard.ts";
import { runForAll } from "./contexts/run-for-all.ts";
import { type ContextStore, createContextStore, mayMeanSeveral } from "./contexts/store.ts";
import type { Command } from "./core/command.ts";
import { connect, connectToOne, createDeprecationWarnings, withPlan } from "./core/connect.ts";
import { explainError, Interrupted, isInterrupted, NeedsDecision, UnknownUnit } from "./core/errors.ts";
import { nobody } from "./core/person.ts";
import type {
  CliTime,
  CommandPorts,
  Connection,
  ConnectOptions,
  LocalCommands,
  Person,
  ServiceOptions,
} from "./core/ports.ts";
import { createFileWarnings, isNamed } from "./core/service.ts";
import { patientFetch } from "./core/transport.ts";
import { cleanIo, exitCode, type Io, printable, screenOf } from "./output/output.ts";
import { formatTime } from "./output/text.ts";
import { createProgram, inertProgram } from "./program.ts";

export { createPerson, readInput } from "./core/person.ts";
export type { CliTime, LocalCommands, PluginConfirmation, PluginReport } from "./core/ports.ts";
export { ioOfProcess } from "./output/output.ts";

const serviceOptionsOf = (command: Command): ServiceOptions => command.optsWithGlobals();

interface CliPorts {
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly io: Io;
  readonly now: () => number;
  readonly local: LocalCommands;
  readonly person?: Person;
  /** By the clock unless given. */
  readonly time?: CliTime;
}

const timeOfClock: CliTime = { sleep, timeout: (durationMs) => AbortSignal.timeout(durationMs) };

/**
 * Runs one command, for several hosts where the command line names several.
 * @returns its exit code: 0 fine, 1 found trouble, 2 could not run, 130 interrupted; with `--nagios` that of a monitoring plugin.
 */
export async function runCli(given: CliPorts): Promise<number> {
  const io = cleanIo(given.io);
  const ports = { ...given, io, person: cleanPerson(given.person ?? nobody, io) };
  const { argv, environment } = ports;
  const contexts = createContextStore(environment);
  // What a monitoring plugin writes is shown beside its result.
  const isSilent = speaksNagios(argv);
  const usesFile = isSilent ? () => undefined : createFileWarnings(io.err);
  const shared = { contexts, usesFile, onDeprecated: isSilent ? () => undefined : createDeprecationWarnings(io.err) };
  if (!mayMeanSeveral(argv)) return runOnce({ ...ports, ...shared });
  try {
    const several = severalHosts(inertProgram(ports.version), argv, contexts);
    if (several === undefined) return await runOnce({ ...ports, ...shared });
    const local = { ...ports.local, readInput: lazy(ports.local.readInput) };
    // "In an hour" is one time for all hosts, and the same in the plan that is shown and in the call that carries it out.
    const startedAtMs = ports.now();
    const now = (): number => startedAtMs;
    const run = ({ signal, isDryRun, planToken, ...host }: HostRun): Promise<number> =>
      runOnce({ ...ports, ...shared, ...host, local, now, person: nobody, oneOfMany: { signal, isDryRun, planToken } });
    const { timeout } = ports.time ?? timeOfClock;
    return await runForAll({ several, io, run, timeout, interrupted: ports.person.interrupted() });
  } catch (error) {
    io.err(`steward: ${explainError(error)}\n`);
    return exitCode.couldNotRun;
  }
}

const cleanPerson = (person: Person, io: Io): Person => ({
  ...person,
  ask: (question) => person.ask(printable(question, screenOf(io).hasErrorColours)),
});

/** A call that others have to approve: says so, and waits for them where that is wanted. */
async function waitOrReport({ approval }: WaitsForApproval, program: Command, ports: CommandPorts): Promise<number> {
  const { io, connect, person } = ports;
  const { id, expires_at: end } = approval;
  io.err(
    `steward: nothing was done yet: another key has to approve it until ${formatTime(end)}: steward approve ${id}\n`,
  );
  if (program.opts()["waitForApproval"] !== true) return exitCode.foundTrouble;
  try {
    const signal = person.interrupted();
    return await awaitApproval(io, await connect(program, { signal }), approval, signal);
  } catch (error) {
    io.err(`steward: ${explainError(error)}\n`);
    return isInterrupted(error) ? exitCode.interrupted : exitCode.couldNotRun;
  }
}

/** A client of one of several hosts. In a dry run a call that would change the host is asked for its plan instead. */
async function connectOneOfMany(
  source: Parameters<typeof connectToOne>[0],
  { isDryRun, planToken }: Pick<HostRun, "isDryRun" | "planToken">,
): Promise<Connection> {
  const connection = await connectToOne(source);
  if (!isDryRun) return withPlan(connection, defined({ plan_token: planToken }));
  const planning = { ...connection, fetch: planningFetch(connection.fetch ?? globalThis.fetch) };
  return { ...planning, client: createClient(planning) };
}

/** {@link runCli} for one host. @throws what ended it, as one of several hosts. */
async function runOnce(
  ports: CliPorts & {
    readonly contexts: ContextStore;
    readonly usesFile: (path: string) => void;
    readonly onDeprecated: NonNullable<ConnectOptions["onDeprecated"]>;
    /** For one of several hosts that are asked at once. */
    readonly oneOfMany?: Pick<HostRun, "signal" | "isDryRun" | "planToken">;
  },
): Promise<number> {
  const {
    argv,
    environment,
    version,
    io,
    now,
    local,
    contexts,
    usesFile,
    onDeprecated,
    oneOfMany,
    person = nobody,
  } = ports;
  let code: number = exitCode.fine;
  let isPlugin = speaksNagios(argv);
  const finish = (result: number): void => {
    code = result;
  };
  const { sleep } = ports.time ?? timeOfClock;
  const source = { environment, local: local.localService, contexts, usesFile, onDeprecated, sleep };
  const connectAs = (options: ServiceOptions, given: ConnectOptions): Promise<Connection> =>
    oneOfMany === undefined
      ? connect({ ...source, options, ...given })
      : connectOneOfMany({ ...source, options, signal: oneOfMany.signal }, oneOfMany);
  const commandPorts: CommandPorts = {
    io,
    now,
    environment,
    person,
    local,
    finish,
    given: serviceOptionsOf,
    contexts,
    connect: (command, options = {}) => connectAs(serviceOptionsOf(command), options),
    isNamed: (command) => isNamed({ ...source, options: serviceOptionsOf(command) }),
    connectTo: (context, signal) => connectToOne({ ...source, options: { context }, signal }),
  };
  const program = createProgram(commandPorts, {
    version,
    writeErr: (text) => (isPlugin ? undefined : io.err(text)),
    isWhole: argv.some((word) => word === "api" || word === "completion"),
  });

  const runPlugin = (call: PluginCall): Promise<void> => {
    program.parseOptions([...call.before]);
    return callPlugin(call, {
      io,
      finish,
      client: async () => (await commandPorts.connect(program, { fetch: patientFetch })).client,
      readInput: local.readInput,
      explain: explainError,
      async unknownCommand(others) {
        for (const { name, description } of others) program.command(name).description(description);
        await program.parseAsync([call.name], { from: "user" });
      },
    });
  };

  const call = pluginCallOf(program, argv);
  // The words after the name are the plugin's own.
  if (call !== undefined) isPlugin = false;
  try {
    await (call === undefined ? program.parseAsync([...argv], { from: "user" }) : runPlugin(call));
    return code;
  } catch (error) {
    const isSaid = error instanceof CommanderError && error.exitCode === 0;
    if (oneOfMany !== undefined && !isSaid) throw error;
    if (isPlugin) {
      // Help has been printed by now.
      if (!isSaid) io.out(`${nagiosUnknown(explainError(error))}\n`);
      return unknownCode;
    }
    if (error instanceof WaitsForApproval) return waitOrReport(error, program, commandPorts);
    if (error instanceof CommanderError) return isSaid ? exitCode.fine : exitCode.couldNotRun;
    if (error instanceof Interrupted) return exitCode.interrupted;
    if (isInterrupted(error)) {
      io.err("steward: ended by Ctrl-C\n");
      return exitCode.interrupted;
    }
    io.err(`steward: ${explainError(error)}\n`);
    if (error instanceof UnknownUnit) return exitCode.unknownUnit;
    return error instanceof NeedsDecision ? exitCode.needsDecision : exitCode.couldNotRun;
  }
}
