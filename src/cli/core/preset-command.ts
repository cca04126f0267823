import type { Command } from "commander";
import { oneLine } from "../output/output.ts";

// Commander takes the wish for a default, and tells nobody of it afterwards.
const presets = new WeakMap<Command, Command>();

/** A word that is no command would be taken for an argument of the preset, and be one too many. */
function refuseUnknown(parent: Command, preset: Command): void {
  const [word] = parent.args;
  if (word === undefined || word.startsWith("-") || parent.commands.some((each) => each.name() === word)) return;
  if (preset.registeredArguments.length > 0) return;
  const names = parent.commands.map((each) => each.name()).join(", ");
  parent.error(`error: unknown command '${oneLine(word)}' of ${parent.name()}: there are ${names}`);
}

/** Adds the subcommand that is meant where none is named; the help of the command above it says so. */
export function presetCommand(parent: Command, name: string): Command {
  const preset = parent.command(name, { isDefault: true });
  presets.set(parent, preset);
  parent.hook("preSubcommand", (_, called) => {
    if (called === preset) refuseUnknown(parent, preset);
  });
  parent.addHelpText("after", ({ command }) => {
    const path = [preset, command, command.parent].map((each) => each?.name()).filter((each) => each !== undefined);
    return `\nWithout a command it does ${name}, whose options it takes: ${path.reverse().join(" ")} --help`;
  });
  return preset;
}

/** The subcommand that is meant where none is named, if there is one. */
export const presetOf = (parent: Command): Command | undefined => presets.get(parent);
