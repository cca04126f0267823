import { Readable } from "node:stream";
import { addLoginsCommand, addUsersCommand } from "./commands/accounts.ts";
import { addAlertsCommands, addNotifyCommands } from "./commands/alerts.ts";
import { addApiCommands } from "./commands/api.ts";
import { addApprovalsCommands, addWindowsCommand } from "./commands/approvals.ts";
import { addAskCommand } from "./commands/ask.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addChatCommand } from "./commands/chat.ts";
import { addCheckCommand } from "./commands/check.ts";
import { addCompletionCommand } from "./commands/completion.ts";
import { addConnectorsCommands, addExplainCommand } from "./commands/connectors.ts";
import { addContextCommands } from "./commands/contexts.ts";
import { addDiskUsageCommand } from "./commands/disk-usage.ts";
import { addDisksCommand } from "./commands/disks.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addHealthCommands, addRunbooksCommands } from "./commands/health.ts";
import { addHostnameCommands, addRebootCommands, addTimeCommands } from "./commands/host-settings.ts";
import { addKeysCommands } from "./commands/keys.ts";
import { addLogsCommand } from "./commands/logs.ts";
import { addMcpCommands } from "./commands/mcp.ts";
import { addNetworkCommand } from "./commands/network.ts";
import { addObservabilityCommands } from "./commands/observability.ts";
import { addOperationsCommands } from "./commands/operations.ts";
import { addPackagesCommands } from "./commands/packages.ts";
import { addPluginsCommands } from "./commands/plugins/index.ts";
import { addProcessesCommands } from "./commands/processes.ts";
import { addReportCommand } from "./commands/report.ts";
import { addConfigCommands, addServeCommand } from "./commands/service.ts";
import { addServicesCommands } from "./commands/services.ts";
import { addSessionsCommands } from "./commands/sessions.ts";
import { addRollbackCommand, addSnapshotsCommands } from "./commands/snapshots.ts";
import { addStatusCommand } from "./commands/status.ts";
import { addMetricsCommand } from "./commands/system-metrics.ts";
import { addTopCommand } from "./commands/top.ts";
import { addTracesCommands } from "./commands/traces.ts";
import { addUnitsCommand } from "./commands/units.ts";
import { addUpdatesCommands } from "./commands/updates.ts";
import { createContextStore } from "./contexts/store.ts";
import { Command } from "./core/command.ts";
import { type CommandNode, describeCommand } from "./core/command-tree.ts";
import { nobody } from "./core/person.ts";
import type { CommandPorts } from "./core/ports.ts";
import { oneLine } from "./output/output.ts";

interface ProgramOptions {
  readonly version: string;
  readonly writeErr: (text: string) => void;
  readonly isWhole: boolean;
}

/** The program with the options that all commands have. */
const createRoot = ({ io }: CommandPorts, options: ProgramOptions): Command =>
  new Command("steward")
    .description("Looks after this Linux host: runs the API service, and is its command line client.")
    .version(options.version)
    .option("--url <address>", "address of the service (STEWARD_URL; the local one when left out)")
    .option("--key-file <file>", "file that holds the key (or STEWARD_API_KEY; the local admin key when left out)")
    .option("--cacert <file>", "certificate to trust instead of the system's, PEM (STEWARD_CACERT)")
    .option("--cert <file>", "client certificate, PEM; without a key it says who asks (STEWARD_CLIENT_CERT)")
    .option("--key <file>", "private key of the client certificate, if it is not in the same file (STEWARD_CLIENT_KEY)")
    .option(
      "--context <names>",
      "host to ask, or several with commas between them; see steward context (STEWARD_CONTEXT)",
    )
    .option("--all", "ask the hosts of all contexts at once")
    .option("--override-window <reason>", "do it although a window holds it back; takes the scope windows:override")
    .option("--proposal-reason <reason>", "reason, for those who have to approve it")
    .option("--wait-for-approval", "wait until others have decided, where they have to approve it")
    .option("--host-timeout <time>", "with several hosts: how long each may take, such as 15s or 2m")
    .configureOutput({
      writeOut: io.out,
      writeErr: options.writeErr,
      outputError: (text, write) =>
        write(
          `steward: ${oneLine(text.replace(/^error: /, "").replace(" is invalid. ", " is invalid: "))} (--help says more)\n`,
        ),
      getOutHelpWidth: () => io.screen?.columns() ?? 80,
      getErrHelpWidth: () => io.screen?.errorColumns() ?? 80,
    })
    .notes("An enabled command plugin is a command too: steward <plugin> [argument...]")
    .exitOverride();

export function createProgram(ports: CommandPorts, options: ProgramOptions): Command {
  const program = createRoot(ports, options);
  program.commandsGroup("The host:");
  addStatusCommand(program, ports);
  addDoctorCommand(program, ports);
  addCheckCommand(program, ports);
  addHealthCommands(program, ports);
  addRunbooksCommands(program, ports);
  addServicesCommands(program, ports);
  addProcessesCommands(program, ports);
  addTopCommand(program, ports);
  addMetricsCommand(program, ports);
  addUnitsCommand(program, ports);
  addDisksCommand(program, ports);
  addDiskUsageCommand(program, ports);
  addNetworkCommand(program, ports);
  addLogsCommand(program, ports);
  addUsersCommand(program, ports);
  addLoginsCommand(program, ports);
  addTimeCommands(program, ports);
  addHostnameCommands(program, ports);
  addRebootCommands(program, ports);
  addReportCommand(program, ports);
  addWindowsCommand(program, ports);
  addAlertsCommands(program, ports);
  addTracesCommands(program, ports);

  program.commandsGroup("Updates:");
  addPackagesCommands(program, ports);
  addUpdatesCommands(program, ports);
  addSnapshotsCommands(program, ports);
  addRollbackCommand(program, ports);
  addOperationsCommands(program, ports);

  program.commandsGroup("Language models:");
  addAskCommand(program, ports);
  addChatCommand(program, ports);
  addMcpCommands(program, ports);
  addExplainCommand(program, ports);
  addConnectorsCommands(program, ports);

  program.commandsGroup("The service:");
  addServeCommand(program, ports);
  addContextCommands(program, ports);
  addConfigCommands(program, ports);
  addKeysCommands(program, ports);
  addSessionsCommands(program, ports);
  addApprovalsCommands(program, ports);
  addAuditCommands(program, ports);
  addPluginsCommands(program, ports);
  addNotifyCommands(program, ports);
  addObservabilityCommands(program, ports, (command) => ports.given(command).url ?? ports.environment["STEWARD_URL"]);

  program.commandsGroup("For programs:");
  addApiCommands(program, ports, options.isWhole);
  addCompletionCommand(program, ports);
  program.helpCommand("help [command]", "what a command does");
  return program;
}

const never = (): Promise<never> => Promise.reject(new Error("cannot run a command: this tree is for reading"));

/** The tree of all commands, for what reads it: nothing in it can be run. */
export const inertProgram = (version: string): Command =>
  createProgram(
    {
      io: { out: () => undefined, err: () => undefined },
      now: Date.now,
      environment: {},
      person: nobody,
      local: {
        serve: never,
        checkConfig: never,
        localService: never,
        openBrowser: never,
        egress: never,
        checkPlugin: never,
        pluginConfirmation: never,
        stackHost: never,
        audit: { list: never, verify: never },
        readInput: never,
        inputLines: () => Readable.from([]),
        runChecks: never,
        redact: never,
      },
      finish: () => undefined,
      connect: never,
      connectTo: never,
      isNamed: () => false,
      contexts: createContextStore({}),
      given: () => ({}),
    },
    { version, writeErr: () => undefined, isWhole: true },
  );

export const documentedProgram = (version: string): CommandNode => describeCommand(inertProgram(version));
