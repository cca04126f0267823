import { Option } from "commander";
import type { Answer, Client, LongOperationName } from "#client/index.ts";
import { type OperationName, operations } from "#contract/index.ts";
import type { Input, Operation, Plan } from "#contract/operation.ts";
import type { NotShown } from "#contract/schema.ts";
import { countedOf } from "#kernel/text.ts";
import type { NameSource } from "../completion/name-sources.ts";
import { type Io, oneLine } from "../output/output.ts";
import { printFields, printNotShown } from "../output/print.ts";
import { withProgress } from "../output/progress.ts";
import { type Columns, printTable } from "../output/table.ts";
import { answerCommand, changeCommand, plannedCommand } from "./answer-command.ts";
import { type Command, checkIds, integer, NamedOption, repeated, SuggestingArgument } from "./command.ts";
import { timeOption } from "./log-time.ts";
import { choicesOf, inputOf, type Member, membersOf, typesOf } from "./operation-members.ts";
import type { CommandPorts } from "./ports.ts";

/** Adds a command, or several, below another one. */
export type AddCommand = (parent: Command, ports: CommandPorts) => void;

interface Group {
  readonly name: string;
  readonly about: string;
  /** The name of the command that is meant where none is named. */
  readonly preset?: string;
}

/** A command that has commands. */
export const commandGroup =
  ({ name, about, preset }: Group, commands: readonly AddCommand[]): AddCommand =>
  (parent, ports) => {
    const group = parent.command(name).description(about);
    group.presetName = preset;
    for (const add of commands) add(group, ports);
  };

/** How a member of an operation is given. What is not said here is as its schema has it: type, bounds, choices. */
export interface Word {
  /** An argument, `<id>` or `[name...]`, or the flags of an option, `-u, --unit <unit>`. */
  readonly as: string;
  readonly about: string;
  /** The names of the service that shells complete. */
  readonly names?: NameSource;
  /** Words that shells complete, among others. */
  readonly suggested?: readonly string[];
  /** What is between the words of an argument that are one text. */
  readonly join?: string;
  /** Undefined: where it is left out, the service decides. */
  readonly default?: string | number;
  readonly read?: (ports: CommandPorts) => (text: string) => unknown;
}

/** How many rows there may be. */
export const limitWord = (preset: number): Word => ({
  as: "-n, --limit <count>",
  about: "maximum results",
  default: preset,
});

/** The id of a check. @param as `<check>` or `[id]` */
export const checkWord = (as: string): Word => ({
  as,
  about: "id of the check, such as disk_space",
  names: "check",
  suggested: checkIds,
});

type Row<K extends OperationName> = (typeof operations)[K];
type PartOf<K extends OperationName, P extends string> =
  Input<Row<K>> extends Readonly<Record<P, infer Members extends object>> ? Members : unknown;

/** What may be given to an operation, whichever part of the call it is in. */
export type Given<K extends OperationName> = Partial<PartOf<K, "params"> & PartOf<K, "query"> & PartOf<K, "body">>;

/** What an answer is an answer to. */
export interface Asked<K extends OperationName> {
  readonly given: Given<K>;
  /** Epoch milliseconds. */
  readonly now: number;
}

interface OperationCommand<K extends OperationName> {
  readonly about: string;
  readonly notes?: string;
  /** In the order of help. */
  readonly words?: { readonly [M in keyof Given<K>]?: Word };
  /** Said while the answer is waited for. */
  readonly progress?: string | ((given: Given<K>) => string);
}

function parserOf({ schema }: Member, { now }: CommandPorts) {
  const { minimum, maximum, format } = schema;
  if (typesOf(schema).includes("integer")) return integer(Number(minimum), Number(maximum));
  return format === "date-time" ? timeOption(now) : undefined;
}

function addArgument(command: Command, word: Word, ports: CommandPorts, member: Member) {
  const { as, about, names, suggested = [], join, read } = word;
  const argument = new SuggestingArgument(as, about, suggested, names);
  const choices = choicesOf(member.schema);
  const parse = read?.(ports) ?? parserOf(member, ports);
  if (choices !== undefined && suggested.length === 0) argument.choices(choices);
  else if (parse !== undefined) argument.argParser(parse);
  command.addArgument(argument);
  const at = command.registeredArguments.length - 1;
  return (): unknown => {
    const value: unknown = command.processedArgs[at];
    if (join === undefined || !Array.isArray(value)) return value;
    return value.length === 0 ? undefined : value.join(join);
  };
}

function addOption(command: Command, word: Word, ports: CommandPorts, member: Member) {
  const { as, about, names, default: preset, read } = word;
  const option = names === undefined ? new Option(as, about) : new NamedOption(as, about, names);
  const choices = choicesOf(member.schema);
  const parse = read?.(ports) ?? parserOf(member, ports);
  if (choices !== undefined) option.choices(choices);
  else if (parse !== undefined) option.argParser(parse);
  else if (typesOf(member.schema).includes("array")) option.argParser(repeated);
  if (preset !== undefined) option.default(preset);
  command.addOption(option);
  const name = option.attributeName();
  return (): unknown => {
    const value: unknown = command.opts()[name];
    if (option.negate) return value === true ? undefined : value;
    return option.isBoolean() ? (value ?? member.schema["default"]) : value;
  };
}

/** Adds a command with its words. @returns what was given, and the call that it makes. */
function addOperation<K extends OperationName>(
  operation: K,
  name: string,
  { about, notes, words = {}, progress }: OperationCommand<K>,
  { parent, ports }: { readonly parent: Command; readonly ports: CommandPorts },
) {
  const command = (parent.presetName === name ? parent.presetCommand(name) : parent.command(name)).description(about);
  if (notes !== undefined) command.notes(notes);
  const row: Operation = operations[operation];
  const members = membersOf(row);
  const values = Object.entries(words as Readonly<Record<string, Word>>).map(([each, word]) => {
    const member = members.find((one) => one.name === each);
    if (member === undefined) throw new Error(`${operation} takes no ${each}`);
    const add = /^[<[]/.test(word.as) ? addArgument : addOption;
    return [member, add(command, word, ports, member)] as const;
  });
  const given = () =>
    Object.fromEntries(values.map(([member, value]) => [member.name, value()])) as unknown as Given<K>;
  const input = () => {
    const { body, ...rest } = inputOf(values.map(([member, value]) => [member, value()]));
    return { ...rest, ...(row.body !== undefined && { body }) };
  };
  const call = (client: Client, query: object = {}): Promise<Answer<K>> => {
    const { query: asked, ...rest } = input();
    const ask = client[operation] as (given: object) => Promise<Answer<K>>;
    const make = () => ask({ ...rest, query: { ...asked, ...query } });
    if (progress === undefined) return make();
    return withProgress(ports.io, typeof progress === "string" ? progress : progress(given()), make);
  };
  return { command, input, call, asked: (): Asked<K> => ({ given: given(), now: ports.now() }) };
}

interface ReadCommand<K extends OperationName> extends OperationCommand<K> {
  /** Whether the answer ends the command with exit code 1; never when left out. */
  readonly isTrouble?: (answer: Answer<K>) => boolean;
  /** Whether the answer may begin after minutes. */
  readonly isSlow?: true;
  /** Each member on a line when left out. */
  readonly print?: (io: Io, answer: Answer<K>, asked: Asked<K>) => void;
}

/** A command that prints what an operation answers. */
export const showCommand =
  <K extends OperationName>(operation: K, name: string, spec: ReadCommand<K>): AddCommand =>
  (parent, ports) => {
    const { command, call, asked } = addOperation(operation, name, spec, { parent, ports });
    const { print = (io: Io, answer: Answer<K>) => printFields(io, answer as object), isTrouble, isSlow } = spec;
    answerCommand<[], Answer<K>>(ports, command, {
      ...(isTrouble && { isTrouble }),
      ...(isSlow && { isSlow }),
      ask: (client) => call(client),
      print: (io, answer) => print(io, answer, asked()),
    });
  };

/** What lists of the service have beside their rows. */
interface ListAnswer {
  readonly total?: number;
  readonly not_shown?: NotShown;
  readonly notes?: readonly string[];
}

type RowIn<List> = List extends readonly (infer Each)[] ? Each : never;

interface ListCommand<K extends OperationName, M extends keyof Answer<K>> extends Omit<ReadCommand<K>, "print"> {
  /** The member of the answer that has the rows. */
  readonly rows: M;
  readonly columns:
    | Columns<RowIn<Answer<K>[M]>>
    | ((answer: Answer<K>, asked: Asked<K>) => Columns<RowIn<Answer<K>[M]>>);
  /** Said instead where there are no rows. */
  readonly empty?: string;
  /** What the rows are counted as below them: of the total, where the answer has one. */
  readonly counts?: string | readonly [one: string, several: string];
  /** What makes the list longer, where it is not the whole. */
  readonly more?: string;
  /** What else is said below the rows. */
  readonly below?: (io: Io, answer: Answer<K>, asked: Asked<K>) => void;
}

/** A command that prints a list that an operation answers: rows, their count, and what the answer lacks. */
export const listCommand = <K extends OperationName, M extends keyof Answer<K>>(
  operation: K,
  name: string,
  spec: ListCommand<K, M>,
): AddCommand => {
  const { rows: member, columns, empty, counts = [], more = "", below, ...rest } = spec;
  const [one, several = undefined] = [counts].flat();
  return showCommand<K>(operation, name, {
    ...rest,
    print(io, answer, asked) {
      const rows = answer[member] as readonly RowIn<Answer<K>[M]>[];
      const { total = rows.length, not_shown: missing, notes = [] } = answer as ListAnswer;
      if (rows.length === 0 && empty !== undefined) io.out(`${empty}\n`);
      else printTable(io, rows, typeof columns === "function" ? columns(answer, asked) : columns);
      if (one !== undefined)
        io.out(
          `${countedOf(rows.length, total, one, several)}${rows.length < total && more !== "" ? ` (${more} shows more)` : ""}\n`,
        );
      below?.(io, answer, asked);
      printNotShown(io.out, missing);
      for (const note of notes) io.err(`steward: ${oneLine(note)}\n`);
    },
  });
};

type Changing = Exclude<OperationName, LongOperationName>;

interface ChangeCommand<K extends Changing> extends OperationCommand<K> {
  readonly isTrouble?: (answer: Answer<K>) => boolean;
  /** Asked with the plan unless `--yes` is given; undefined: nothing is asked. */
  readonly question?: (plan: Plan, given: Given<K>) => string | undefined;
  readonly print: (io: Io, answer: Answer<K>) => void;
}

/** A command that changes something, or shows with `--dry-run` what it would change. */
export const changingCommand =
  <K extends Changing>(operation: K, name: string, spec: ChangeCommand<K>): AddCommand =>
  (parent, ports) => {
    const { command, call, asked } = addOperation(operation, name, spec, { parent, ports });
    const { question, print, isTrouble } = spec;
    changeCommand<[], Answer<K>>(ports, command, {
      ...(isTrouble && { isTrouble }),
      ...(question && { question: (plan) => question(plan, asked().given) }),
      change: call,
      print,
    });
  };

interface LongCommand<K extends LongOperationName> extends OperationCommand<K> {
  /** Whether it is too short not to be waited for. */
  readonly isAwaited?: true;
  readonly question: (plan: Plan, given: Given<K>) => string;
  readonly print: (io: Io, result: Answer<K>) => void;
}

/** A command that begins an operation, after its plan was agreed to, and follows it until it ends. */
export const longCommand =
  <K extends LongOperationName>(operation: K, name: string, spec: LongCommand<K>): AddCommand =>
  (parent, ports) => {
    const { isAwaited, question, print } = spec;
    const { command, input, asked } = addOperation(operation, name, spec, { parent, ports });
    command.dryRun().yes();
    if (!isAwaited) command.noWait();
    plannedCommand(ports, command.json(), {
      name: operation,
      input: () => input() as unknown as Partial<Input<Row<K>>>,
      question: (plan) => question(plan, asked().given),
      print,
    });
  };
