import { Argument, InvalidArgumentError, Option } from "commander";
import type { Operation } from "#contract/operation.ts";
import { isRecord, type JsonObject } from "#kernel/values.ts";
import { oneLine } from "../output/output.ts";

type Schema = JsonObject;

export type Part = "params" | "query" | "body";

export interface Member {
  readonly part: Part;
  /** As the contract has it: `dry_run`. */
  readonly name: string;
  /** As the command line has it: `dry-run`. */
  readonly word: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

export const kebab = (name: string): string =>
  name
    .replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `-${letter}`)
    .replaceAll("_", "-")
    .toLowerCase();

/** The members of an operation. An answer in pieces is for programs that read events, so it is not asked for. */
export function membersOf(operation: Operation): readonly Member[] {
  return (["params", "query", "body"] as const).flatMap((part) => {
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
      return [
        { part, name, word: kebab(name), schema: member, isRequired: part === "params" || required.includes(name) },
      ];
    });
  });
}

const typesOf = ({ schema }: Member): readonly unknown[] => [schema["type"]].flat();
const itemsOf = ({ schema }: Member): Schema | undefined => (isRecord(schema["items"]) ? schema["items"] : undefined);
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

function descriptionOf({ schema }: Member): string {
  const { description, default: preset } = schema;
  const said = typeof description === "string" ? oneLine(description) : "";
  const hasDefault = preset !== undefined && preset !== false && preset !== "";
  return [said, hasDefault ? `(default: ${JSON.stringify(preset)})` : ""].filter(Boolean).join(" ");
}

export function argumentOf(member: Member): Argument {
  const argument = new Argument(`<${member.word}>`, descriptionOf(member));
  const choices = choicesOf(member.schema);
  return choices === undefined ? argument : argument.choices(choices);
}

export function optionsOf(member: Member): readonly Option[] {
  const { word, schema } = member;
  const types = typesOf(member);
  const description = descriptionOf(member);
  if (types.includes("boolean")) {
    const yes = new Option(`--${word}`, description);
    return schema["default"] === false ? [yes] : [yes, new Option(`--no-${word}`, `the opposite of --${word}`)];
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
