import { Option } from "commander";
import type { Answer, Client } from "#client/index.ts";
import { type OperationName, operations } from "#contract/index.ts";
import type { Input, Operation } from "#contract/operation.ts";
import { isRecord, type JsonObject } from "#kernel/values.ts";
import type { NameSource } from "../completion/name-sources.ts";
import { withProgress } from "../output/progress.ts";
import { type Command, checkIds, integer, NamedOption, repeated, SuggestingArgument } from "./command.ts";
import { timeOption } from "./log-time.ts";
import type { CommandPorts } from "./ports.ts";

const parts = ["params", "query", "body"] as const;

/** A member of what an operation takes. */
export interface Member {
  readonly part: (typeof parts)[number];
  /** As the contract has it: `dry_run`. */
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired: boolean;
}

/** The members of an operation. An answer in pieces is for programs that read events, so it is not asked for. */
export function membersOf(operation: Operation): readonly Member[] {
  return parts.flatMap((part) => {
    const schema: unknown = operation[part];
    const properties = isRecord(schema) && isRecord(schema["properties"]) ? schema["properties"] : {};
    const required: readonly unknown[] =
      isRecord(schema) && Array.isArray(schema["required"]) ? schema["required"] : [];
    const names = Object.keys(properties).filter(
      (name) => !(operation.streams && part === "body" && name === "stream"),
    );
    return names.flatMap((name): readonly Member[] => {
      const member = properties[name];
      if (!isRecord(member)) return [];
      return [{ part, name, schema: member, isRequired: part === "params" || required.includes(name) }];
    });
  });
}

export const typesOf = ({ type }: JsonObject): readonly unknown[] => [type].flat();
export const choicesOf = ({ enum: choices }: JsonObject): readonly string[] | undefined =>
  Array.isArray(choices) ? choices.map(String) : undefined;

export type OperationInput = Record<(typeof parts)[number], Record<string, unknown>>;

/** What a call takes, with the values of members; those that are undefined are left out. */
export function inputOf(values: readonly (readonly [Member, unknown])[]): OperationInput {
  const input: OperationInput = { params: {}, query: {}, body: {} };
  for (const [{ part, name }, value] of values) if (value !== undefined) input[part][name] = value;
  return input;
}

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
  readonly read?: (ports: CommandPorts) => (text: string, before?: unknown) => unknown;
  /** What words stand for, which are the choices; for a flag without a value, what it alone stands for. */
  readonly means?: Readonly<Record<string, unknown>> | string;
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

export type Row<K extends OperationName> = (typeof operations)[K];
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

export interface OperationCommand<K extends OperationName> {
  readonly about: string;
  readonly notes?: string;
  /** In the order of help. */
  readonly words?: { readonly [M in keyof Given<K>]?: Word | readonly Word[] };
  /** Said while the answer is waited for. */
  readonly progress?: string | ((given: Given<K>) => string);
  /** Where the call takes more than what is given. */
  readonly call?: (client: Client, input: Input<Row<K>>) => Promise<Answer<K>>;
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
  if (read === undefined && choices !== undefined) argument.choices(choices);
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
  const { as, about, names, default: preset, read, means } = word;
  const option = names === undefined ? new Option(as, about) : new NamedOption(as, about, names);
  const choices = typeof means === "object" ? Object.keys(means) : choicesOf(member.schema);
  const parse = read?.(ports) ?? parserOf(member, ports);
  if (choices !== undefined) option.choices(choices);
  else if (parse !== undefined) option.argParser(parse);
  else if (typesOf(member.schema).includes("array")) option.argParser(repeated);
  if (preset !== undefined) option.default(preset);
  command.addOption(option);
  const name = option.attributeName();
  return (): unknown => {
    const value: unknown = command.opts()[name];
    if (typeof means === "object") return typeof value === "string" ? means[value] : undefined;
    if (means !== undefined) return value === true ? means : undefined;
    if (option.negate) return value === true ? undefined : value;
    return option.isBoolean() ? (value ?? member.schema["default"]) : value;
  };
}

/** Adds a command with its words. @returns what was given, and the call that it makes. */
export function addOperation<K extends OperationName>(
  operation: K,
  name: string,
  { about, notes, words = {}, progress, call: ownCall }: OperationCommand<K>,
  { parent, ports }: { readonly parent: Command; readonly ports: CommandPorts },
) {
  const command = (parent.presetName === name ? parent.presetCommand(name) : parent.command(name)).description(about);
  if (notes !== undefined) command.notes(notes);
  const row: Operation = operations[operation];
  const members = membersOf(row);
  const values = Object.entries(words as Readonly<Record<string, Word | readonly Word[]>>).map(([each, several]) => {
    const member = members.find((one) => one.name === each);
    if (member === undefined) throw new Error(`${operation} takes no ${each}`);
    const said = [several].flat().map((word) => {
      const add = /^[<[]/.test(word.as) ? addArgument : addOption;
      return add(command, word, ports, member);
    });
    return [member, () => said.map((value) => value()).findLast((value) => value !== undefined)] as const;
  });
  const given = () =>
    Object.fromEntries(values.map(([member, value]) => [member.name, value()])) as unknown as Given<K>;
  const input = () => {
    const { body, ...rest } = inputOf(values.map(([member, value]) => [member, value()]));
    return { ...rest, ...(row.body !== undefined && { body }) };
  };
  const call = (client: Client, query: object = {}): Promise<Answer<K>> => {
    const { query: asked, ...rest } = input();
    const whole = { ...rest, query: { ...asked, ...query } };
    const ask = client[operation] as (given: object) => Promise<Answer<K>>;
    const make = () => (ownCall === undefined ? ask(whole) : ownCall(client, whole as unknown as Input<Row<K>>));
    if (progress === undefined) return make();
    return withProgress(ports.io, typeof progress === "string" ? progress : progress(given()), make);
  };
  return { command, input, call, asked: (): Asked<K> => ({ given: given(), now: ports.now() }) };
}
