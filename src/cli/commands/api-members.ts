import { Argument, InvalidArgumentError, Option } from "commander";
import type { Operation } from "#contract/operation.ts";
import { oneLine } from "../output/output.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Where a member of an operation goes. */
export type Part = "params" | "query" | "body";

/** One member of what an operation takes, as the command line has it. */
export interface Member {
  readonly part: Part;
  /** As the contract has it: `dry_run`. */
  readonly name: string;
  /** As the command line has it: `dry-run`. */
  readonly word: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `restartService` as `restart-service`, `snapshot_id` as `snapshot-id`. */
export const kebab = (name: string): string =>
  name
    .replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `-${letter}`)
    .replaceAll("_", "-")
    .toLowerCase();

/** The members of an operation. An answer in pieces is for programs that read events, so it is not asked for. */
export function membersOf(operation: Operation): readonly Member[] {
  return (["params", "query", "body"] as const).flatMap((part) => {
    const schema: unknown = operation[part];
    const properties = isSchema(schema) && isSchema(schema["properties"]) ? schema["properties"] : {};
    const required: readonly unknown[] =
      isSchema(schema) && Array.isArray(schema["required"]) ? schema["required"] : [];
    return Object.entries(properties)
      .filter(([name]) => !(operation.streams && part === "body" && name === "stream"))
      .flatMap(([name, member]) =>
        isSchema(member)
          ? [
              {
                part,
                name,
                word: kebab(name),
                schema: member,
                isRequired: part === "params" || required.includes(name),
              },
            ]
          : [],
      );
  });
}

const typesOf = ({ schema }: Member): readonly unknown[] => [schema["type"]].flat();
const itemsOf = ({ schema }: Member): Schema | undefined => (isSchema(schema["items"]) ? schema["items"] : undefined);
const choicesOf = ({ enum: choices }: Schema): readonly string[] | undefined =>
  Array.isArray(choices) ? choices.map(String) : undefined;

/** Whether a word of the command line can stand for it; what cannot goes into `--data`. */
export const isFlat = (member: Member): boolean =>
  typesOf(member).some((type) => ["string", "integer", "number", "boolean"].includes(String(type))) ||
  (typesOf(member).includes("array") && itemsOf(member)?.["type"] === "string");

function numberIn({ minimum, maximum }: Schema, isInteger: boolean) {
  return (text: string): number => {
    const value = Number(text);
    const isNumber = (isInteger ? /^-?\d+$/ : /^-?\d+(\.\d+)?$/).test(text);
    const isWithin =
      !(typeof minimum === "number" && value < minimum) && !(typeof maximum === "number" && value > maximum);
    if (isNumber && isWithin) return value;
    const kind = isInteger ? "a whole number" : "a number";
    throw new InvalidArgumentError(
      `it must be ${kind}${typeof minimum === "number" ? ` from ${minimum}` : ""}${typeof maximum === "number" ? ` to ${maximum}` : ""}`,
    );
  };
}

/** What help says of a member: the words of the contract, and what holds where it is left out. */
function descriptionOf({ schema }: Member): string {
  const { description, default: preset } = schema;
  const said = typeof description === "string" ? oneLine(description) : "";
  const isTold = preset !== undefined && preset !== false && preset !== "";
  return [said, isTold ? `(default: ${JSON.stringify(preset)})` : ""].filter(Boolean).join(" ");
}

/** The argument that stands for a parameter of the path. */
export function argumentOf(member: Member): Argument {
  const argument = new Argument(`<${member.word}>`, descriptionOf(member));
  const choices = choicesOf(member.schema);
  return choices === undefined ? argument : argument.choices(choices);
}

/** The options that stand for a member of query or body. */
export function optionsOf(member: Member): readonly Option[] {
  const { word, schema } = member;
  const types = typesOf(member);
  const description = descriptionOf(member);
  if (types.includes("boolean")) {
    const yes = new Option(`--${word}`, description);
    const no = new Option(`--no-${word}`, `the opposite of --${word}`);
    if (schema["default"] === false) return [yes];
    return [yes, no];
  }
  if (types.includes("array")) {
    const option = new Option(`--${word} <value>`, `${description} May be repeated.`.trim());
    return [option.argParser((value, list: readonly string[] | undefined) => [...(list ?? []), value])];
  }
  const isInteger = types.includes("integer");
  const option = new Option(`--${word} <${isInteger || types.includes("number") ? "number" : "value"}>`, description);
  const choices = choicesOf(schema);
  if (choices !== undefined) return [option.choices(choices)];
  return [isInteger || types.includes("number") ? option.argParser(numberIn(schema, isInteger)) : option];
}

/** Name under which commander keeps the value of an option. */
export const optionKey = ({ word }: Member): string =>
  word.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
