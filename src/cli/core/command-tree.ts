import type { Argument, Help, Option } from "commander";
import { type Command, NamedOption, SuggestingArgument } from "./command.ts";

export type OptionNode = ReturnType<typeof optionNode>;
export type ArgumentNode = ReturnType<typeof argumentNode>;

export interface CommandNode {
  /** The words that lead to it, without the name of the program. */
  readonly path: readonly string[];
  readonly name: string;
  readonly description: string;
  readonly usage: string;
  readonly arguments: readonly ArgumentNode[];
  readonly options: readonly OptionNode[];
  /** The text that help prints below its lists. */
  readonly notes: string;
  readonly commands: readonly CommandNode[];
  /** The one of them that is meant where none is named; its options are included. */
  readonly preset: CommandNode | undefined;
}

const unbroken = 100_000;

/** What was added to the help of a command, which commander gives only by printing it. */
function notesOf(command: Command): string {
  let printed = "";
  const before = command.configureOutput();
  command.configureOutput({
    writeOut: (text) => {
      printed += text;
    },
    getOutHelpWidth: () => unbroken,
  });
  command.outputHelp();
  command.configureOutput(before);
  const help = command.createHelp();
  help.helpWidth = unbroken;
  return printed.slice(help.formatHelp(command, help).length).trim();
}

const sentence = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

function argumentNode(argument: Argument, help: Help) {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return {
    /** As usage has it: `[id]`. */
    term: argument.required ? `<${name}>` : `[${name}]`,
    description: sentence(help.argumentDescription(argument)),
    /** The words that shells complete. */
    choices: argument.argChoices ?? (argument instanceof SuggestingArgument ? argument.suggestions : []),
    /** The list of the service that shells complete names from. */
    source: argument instanceof SuggestingArgument ? argument.source : undefined,
  };
}

function valueKind({ required, optional, argChoices, flags }: Option) {
  if (!required && !optional) return "none";
  if (argChoices !== undefined) return "choice";
  if (/<file>|\[file\]/.test(flags)) return "file";
  return /<dir>|\[dir\]/.test(flags) ? "directory" : "text";
}

function optionNode(option: Option, help: Help) {
  const { flags, short, long, argChoices = [] } = option;
  return {
    /** As help has it: `-n, --lines <count>`. */
    flags,
    /** Each spelling: `-n`, `--lines`. */
    names: [short, long].filter((name) => name !== undefined),
    description: sentence(help.optionDescription(option)),
    value: valueKind(option),
    choices: argChoices,
    source: option instanceof NamedOption ? option.source : undefined,
  };
}

/** The tree of commands below one, without those that help hides. */
export function describeCommand(command: Command, path: readonly string[] = []): CommandNode {
  const help = command.createHelp();
  const visible = (help.visibleCommands(command) as Command[]).filter((each) => each.name() !== "help");
  const commands = visible.map((each) => describeCommand(each, [...path, each.name()]));
  return {
    path,
    name: command.name(),
    description: sentence(command.description()),
    usage: sentence(help.commandUsage(command)),
    arguments: command.registeredArguments.map((argument) => argumentNode(argument, help)),
    options: help.visibleOptions(command).map((option) => optionNode(option, help)),
    notes: notesOf(command),
    commands,
    preset: commands.find(({ name }) => name === command.preset?.name()),
  };
}

/** The command and all below it. */
export const allCommands = (node: CommandNode): readonly CommandNode[] => [node, ...node.commands.flatMap(allCommands)];
