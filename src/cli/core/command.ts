import { Argument, Command as BaseCommand, InvalidArgumentError, Option } from "commander";
import { builtInCheckIds } from "#contract/check-meanings.ts";
import type { NameSource } from "../completion/name-sources.ts";
import { oneLine } from "../output/output.ts";

/** Parses an integer option within bounds. @throws InvalidArgumentError beyond them. */
export const integer =
  (minimum: number, maximum: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`it must be a whole number from ${minimum} to ${maximum}`);
  };

export const repeated = (value: string, list: readonly string[] = []): readonly string[] => [...list, value];

/** An argument for which shells complete these words, and which takes others as well. */
export class SuggestingArgument extends Argument {
  readonly suggestions: readonly string[];
  readonly source: NameSource | undefined;

  constructor(term: string, description: string, suggestions: readonly string[], source?: NameSource) {
    super(term, description);
    this.suggestions = suggestions;
    this.source = source;
  }
}

/** An argument for which shells complete names of the service. */
export const namedArgument = (term: string, description: string, source: NameSource): Argument =>
  new SuggestingArgument(term, description, [], source);

/** An option for whose value shells complete names of the service. */
export class NamedOption extends Option {
  readonly source: NameSource;

  constructor(flags: string, description: string, source: NameSource) {
    super(flags, description);
    this.source = source;
  }
}

/** The ids that checks of the service can have. */
export const checkIds = builtInCheckIds.filter((id) => id !== "package_status");

/** The id of a check, as an argument. @param term `<check>` or `[id]` */
export const checkArgument = (term: string): Argument =>
  new SuggestingArgument(term, "id of the check, such as disk_space", checkIds, "check");

/** Commander's command, with what several commands say in the same words. */
export class Command extends BaseCommand {
  declare readonly commands: readonly Command[];
  declare parent: Command | null;

  /** The subcommand that is meant where none is named, and its name, which is known before it is added. */
  preset: Command | undefined;
  presetName: string | undefined;

  override createCommand(name?: string): Command {
    return new Command(name);
  }

  notes(text: string): this {
    return this.addHelpText("after", `\n${text}`);
  }

  choice(flags: string, description: string, choices: readonly string[], preset?: string): this {
    const option = new Option(flags, description).choices(choices);
    return this.addOption(preset === undefined ? option : option.default(preset));
  }

  limit({ minimum, maximum, default: preset }: { minimum: number; maximum: number; default: number }): this {
    return this.option("-n, --limit <count>", "maximum results", integer(minimum, maximum), preset);
  }

  dryRun(): this {
    return this.option("--dry-run", "show what would be done, and do nothing");
  }

  yes(): this {
    return this.option("-y, --yes", "do not ask");
  }

  noWait(): this {
    return this.option("--no-wait", "start it, print the id of the operation, and do not wait");
  }

  json(description = "print the answer as JSON"): this {
    return this.option("--json", description);
  }

  /** Adds the subcommand that is the default; the help says so. */
  presetCommand(name: string): Command {
    const preset = this.command(name, { isDefault: true });
    this.preset = preset;
    this.hook("preSubcommand", (_, called) => {
      if (called === preset) this.#refuseUnknown(preset);
    });
    this.addHelpText("after", ({ command }) => {
      const path = [preset, command, command.parent].map((each) => each?.name()).filter((each) => each !== undefined);
      return `\nWithout a command it does ${name}, whose options it takes: ${path.reverse().join(" ")} --help`;
    });
    return preset;
  }

  /** Commander would take an unknown word for an argument of the preset and complain about too many arguments. */
  #refuseUnknown(preset: Command): void {
    const [word] = this.args;
    if (word === undefined || word.startsWith("-") || this.commands.some((each) => each.name() === word)) return;
    if (preset.registeredArguments.length > 0) return;
    const names = this.commands.map((each) => each.name()).join(", ");
    this.error(`error: unknown command '${oneLine(word)}' of ${this.name()}: there are ${names}`);
  }
}
