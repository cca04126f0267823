import type { Command } from "commander";
import { exitCode, printJson } from "./output.ts";
import type { CommandPorts } from "./ports.ts";

/** `steward config check`. */
export function addConfigCommands(program: Command, ports: Pick<CommandPorts, "io" | "finish" | "local">): void {
  const { io, finish, local } = ports;
  const config = program.command("config").description("look at the settings");
  config
    .command("check")
    .description("print every fault of the settings with file, line and path")
    .option("--config <file>", "settings file")
    .option("--json", "print the report as JSON")
    .addHelpText("after", "\nExit code: 0 no fault, 1 there are faults.")
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
