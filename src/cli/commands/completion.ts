import { Argument } from "commander";
import type { Command } from "../core/command.ts";
import { describeCommand } from "../core/command-tree.ts";
import type { CommandPorts } from "../core/ports.ts";
import { completionScripts } from "./completion-scripts.ts";

const places = {
  bash: "/etc/bash_completion.d/steward",
  zsh: "/usr/local/share/zsh/site-functions/_steward",
  fish: "/etc/fish/completions/steward.fish",
} as const;
type Shell = keyof typeof places;

export function addCompletionCommand(program: Command, { io }: Pick<CommandPorts, "io">): void {
  program
    .command("completion")
    .description("print what makes a shell complete the words of this program")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(places)))
    .notes(`For one session: source <(steward completion bash)
For good:        ${Object.entries(places)
      .map(([shell, place]) => `steward completion ${shell} > ${place}`)
      .join("\n                 ")}`)
    .action((shell: Shell) => io.out(completionScripts[shell](describeCommand(program))));
}
