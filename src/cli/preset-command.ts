import type { Command } from "commander";

// Commander takes the wish for a default, and tells nobody of it afterwards.
const presets = new WeakMap<Command, Command>();

/** Adds the subcommand that is meant where none is named; the help of the command above it says so. */
export function presetCommand(parent: Command, name: string): Command {
  const preset = parent.command(name, { isDefault: true });
  presets.set(parent, preset);
  parent.addHelpText("after", ({ command }) => {
    const path = [preset, command, command.parent].map((each) => each?.name()).filter((each) => each !== undefined);
    return `\nWithout a command it does ${name}, whose options it takes: ${path.reverse().join(" ")} --help`;
  });
  return preset;
}

/** The subcommand that is meant where none is named, if there is one. */
export const presetOf = (parent: Command): Command | undefined => presets.get(parent);
