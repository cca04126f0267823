import type { Command } from "commander";
import { oneLine } from "../output/output.ts";

// Commander does not say afterwards which subcommand is the default.
const presets = new WeakMap<Command, Command>();

/** Commander would take an unknown word for an argument of the preset and complain about too many arguments. */
function refuseUnknown(parent: Command, preset: Command): void {
  const [word] = parent.args;
  if (word === undefined || word.startsWith("-") || parent.commands.some((each) => each.name() === word)) return;
  if (preset.registeredArguments.length > 0) return;
  const names = parent.commands.map((each) => each.name()).join(", ");
  parent.error(`error: unknown command '${oneLine(word)}' of ${parent.name()}: there are ${names}`);
}

/** Adds the subcommand that is the default; the help of its parent says so. */
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

export const presetOf = (parent: Command): Command | undefined => presets.get(parent);
