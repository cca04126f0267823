import type { Operation } from "#contract/operation.ts";
import { isRecord, type JsonObject } from "#kernel/values.ts";

type Schema = JsonObject;

const parts = ["params", "query", "body"] as const;

/** A member of what an operation takes. */
export interface Member {
  readonly part: (typeof parts)[number];
  /** As the contract has it: `dry_run`. */
  readonly name: string;
  readonly schema: Schema;
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

export const typesOf = ({ type }: Schema): readonly unknown[] => [type].flat();
export const choicesOf = ({ enum: choices }: Schema): readonly string[] | undefined =>
  Array.isArray(choices) ? choices.map(String) : undefined;

export type OperationInput = Record<(typeof parts)[number], Record<string, unknown>>;

/** What a call takes, with the values of members; those that are undefined are left out. */
export function inputOf(values: readonly (readonly [Member, unknown])[]): OperationInput {
  const input: OperationInput = { params: {}, query: {}, body: {} };
  for (const [{ part, name }, value] of values) if (value !== undefined) input[part][name] = value;
  return input;
}
