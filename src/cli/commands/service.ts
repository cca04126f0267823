import { valueCommand } from "../core/answer-command.ts";
import type { Command } from "../core/command.ts";
import type { CommandPorts } from "../core/ports.ts";
import { exitCode } from "../output/output.ts";

export function addConfigCommands(program: Command, ports: Pick<CommandPorts, "io" | "finish" | "local">): void {
  const { io, finish, local } = ports;
  const config = program.command("config").description("check the settings, and derive files from them");
  const check = config
    .command("check")
    .description("print every fault of the settings with file, line and path")
    .option("--config <file>", "settings file")
    .notes("Exit code: 0 no fault, 1 there are faults.");
  valueCommand(ports, check, {
    json: "print the report as JSON",
    make: (options: { config?: string }) => local.checkConfig(options.config),
    isTrouble: ({ faults }) => faults.length > 0,
    print(_, { file, faults, warnings }) {
      for (const { text } of faults) io.out(`${text}\n`);
      for (const warning of warnings) io.out(`warning: ${warning}\n`);
      if (faults.length === 0) io.out(`${file ?? "built-in defaults"}: no fault\n`);
    },
  });
  config
    .command("egress")
    .description("print a drop-in for systemd that limits the service to the addresses that its settings need")
    .option("--config <file>", "settings file")
    .option("--clients <network...>", "networks that clients come from, where the service listens beyond this host")
    .option("--allow <address...>", "further addresses and networks, such as those that your monitoring plugins ask")
    .notes(`As root:
  mkdir -p /etc/systemd/system/steward.service.d
  steward config egress > /etc/systemd/system/steward.service.d/egress.conf
  systemctl daemon-reload && systemctl restart steward

systemd limits by address, not by name: write the file again when the settings or the addresses of a provider change.
Connectors that are found by their keys in the environment are not in the settings: give their addresses with --allow.
Exit code: 0 written, 1 a name could not be resolved and is left out.`)
    .action(async (options: { config?: string; clients?: string[]; allow?: string[] }) => {
      const { config: file, clients = [], allow = [] } = options;
      const { text, unresolved } = await local.egress({ config: file, clients, allow });
      finish(unresolved.length === 0 ? exitCode.fine : exitCode.foundTrouble);
      io.out(text);
      for (const line of unresolved) io.err(`${line}\n`);
    });
}

export function addServeCommand(program: Command, { local }: Pick<CommandPorts, "local">): void {
  program
    .command("serve")
    .description("run the service")
    .option("--config <file>", "settings file (STEWARD_CONFIG; /etc/steward/config.yaml where it exists)")
    .option("--new-admin-key", "make a further admin key at the start, for when the first one was lost")
    .option("--safe-mode", "start without any plugin")
    .action((options: { config?: string; newAdminKey?: boolean; safeMode?: boolean }) => local.serve(options));
}
