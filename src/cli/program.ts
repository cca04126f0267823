import { addAlertsCommands } from "./commands/alerts.ts";
import { addApiCommands } from "./commands/api.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addChatCommand } from "./commands/chat.ts";
import { addCheckCommand } from "./commands/check.ts";
import { addCompletionCommand } from "./commands/completion.ts";
import { addConfigCommands } from "./commands/config.ts";
import { addConnectorsCommands } from "./commands/connectors.ts";
import { addContextCommands } from "./commands/contexts.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addExplainCommand } from "./commands/explain.ts";
import { addKeysCommands } from "./commands/keys.ts";
import { addLogsCommand } from "./commands/logs.ts";
import { addNotifyCommands } from "./commands/notify.ts";
import { addObservabilityCommands } from "./commands/observability.ts";
import { addOperationsCommands } from "./commands/operations.ts";
import { addPluginsCommands } from "./commands/plugins/index.ts";
import { addRebootCommands } from "./commands/reboot.ts";
import { addServicesCommands } from "./commands/services.ts";
import { addRollbackCommand, addSnapshotsCommands } from "./commands/snapshots.ts";
import { addStatusCommand } from "./commands/status.ts";
import { addTaskCommand } from "./commands/task.ts";
import { addTracesCommands } from "./commands/traces.ts";
import { addUpdatesCommands } from "./commands/updates.ts";
import { Command } from "./core/command.ts";
import type { CommandPorts } from "./core/ports.ts";
import { oneLine } from "./output/output.ts";

function addServeCommand(program: Command, { local }: Pick<CommandPorts, "local">): void {
  program
    .command("serve")
    .description("run the service")
    .option("--config <file>", "settings file (STEWARD_CONFIG; /etc/steward/config.yaml where it exists)")
    .option("--new-admin-key", "make a further admin key at the start, for when the first one was lost")
    .option("--safe-mode", "start without any plugin")
    .action((options: { config?: string; newAdminKey?: boolean; safeMode?: boolean }) => local.serve(options));
}

export function createProgram(
  ports: CommandPorts,
  options: {
    readonly version: string;
    readonly writeErr: (text: string) => void;
    readonly isWhole: boolean;
  },
): Command {
  const { io, environment } = ports;
  const program = new Command("steward")
    .description("Looks after this Linux host: serves the API, and asks it.")
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

  program.commandsGroup("The host:");
  addStatusCommand(program, ports);
  addDoctorCommand(program, ports);
  addCheckCommand(program, ports);
  addServicesCommands(program, ports);
  addLogsCommand(program, ports);
  addRebootCommands(program, ports);
  addAlertsCommands(program, ports);
  addTracesCommands(program, ports);

  program.commandsGroup("Updates:");
  addUpdatesCommands(program, ports);
  addSnapshotsCommands(program, ports);
  addRollbackCommand(program, ports);
  addOperationsCommands(program, ports);

  program.commandsGroup("Language models:");
  addChatCommand(program, ports);
  addExplainCommand(program, ports);
  addConnectorsCommands(program, ports);

  program.commandsGroup("The service:");
  addServeCommand(program, ports);
  addContextCommands(program, ports);
  addConfigCommands(program, ports);
  addKeysCommands(program, ports);
  addAuditCommands(program, ports);
  addPluginsCommands(program, ports);
  addNotifyCommands(program, ports);
  addObservabilityCommands(program, ports, (command) => ports.given(command).url ?? environment["STEWARD_URL"]);
  addTaskCommand(program, ports);

  program.commandsGroup("For programs:");
  addApiCommands(program, ports, options.isWhole);
  addCompletionCommand(program, ports);
  program.helpCommand("help [command]", "what a command does");
  return program;
}
