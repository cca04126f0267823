import { compile, type JSONSchema } from "json-schema-to-typescript";
import type { TSchema } from "typebox";
import { errorStatus } from "#contract/errors.ts";
import { operations, resources } from "#contract/index.ts";
import { type Operation, Plan } from "#contract/operation.ts";
import * as streamSchemas from "#contract/streams.ts";
import { isRecord } from "#kernel/values.ts";

type Json = Readonly<Record<string, unknown>>;

const capitalized = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const isSchema = (value: unknown): value is TSchema => isRecord(value) && "~kind" in value;

/** Schemas that become a type by their name: those of the document, and the frames of streams. */
const named = new Map<TSchema, string>([
  ...Object.entries<unknown>(streamSchemas).flatMap(([name, value]): [TSchema, string][] =>
    isSchema(value) ? [[value, name]] : [],
  ),
  ...Object.entries<TSchema>(resources).map(([name, schema]): [TSchema, string] => [schema, name]),
]);

const reference = (name: string): Json => ({ $ref: `#/definitions/${name}` });

/** How long the text of a comment becomes where it has several sentences: the whole of it is in the document of the service. */
const briefLength = 80;
const isBrief = (text: string): boolean => text.length <= briefLength;

/** The first sentence, and those after it that fit. */
function brief(text: string): string {
  const sentences = text.split(/(?<=\.)\s+(?=[A-Z`])/);
  const prefixes = sentences.map((_, at) => sentences.slice(0, at + 1).join(" "));
  return prefixes.findLast(isBrief) ?? prefixes[0] ?? text;
}

/** The schema as JSON, with named ones as references. `except` is the one being defined. */
function toJson(schema: unknown, except?: unknown): unknown {
  const name = schema === except || !isSchema(schema) ? undefined : named.get(schema);
  if (name !== undefined) return reference(name);
  if (Array.isArray(schema)) return schema.map((item) => toJson(item));
  if (!isRecord(schema)) return schema;
  // Bounds of lists would become tuples, and examples comments.
  const { examples: _, minItems: _min, maxItems: _max, ...members } = schema;
  const { description } = members;
  return {
    ...Object.fromEntries(Object.entries(members).map(([key, value]) => [key, toJson(value)])),
    ...(typeof description === "string" && { description: brief(description) }),
  };
}

const hasRequired = ({ required }: TSchema & { readonly required?: readonly string[] }): boolean =>
  (required ?? []).length > 0;

/** The input of a call; undefined where it has none. */
function inputOf({ params, query, body }: Operation): Json | undefined {
  const parts = Object.entries({ params, query, body }).flatMap(([name, schema]) =>
    schema === undefined ? [] : [[name, schema] as const],
  );
  if (parts.length === 0) return undefined;
  return {
    type: "object",
    properties: Object.fromEntries(parts.map(([name, schema]) => [name, toJson(schema)])),
    required: parts.filter(([, schema]) => hasRequired(schema)).map(([name]) => name),
    additionalProperties: false,
  };
}

const comment = (lines: readonly (string | undefined)[]): string =>
  `  /** ${lines
    .filter((line) => line !== undefined)
    .join(" ")
    .replaceAll("*/", "*\\/")} */`;

function methodOf(name: string, operation: Operation): string {
  const { summary, description, scope, effect, mediaType, response } = operation;
  const input = inputOf(operation);
  const optional = (input?.["required"] as readonly string[] | undefined)?.length === 0 ? "?" : "";
  const argument = input === undefined ? "" : `input${optional}: ${capitalized(name)}Arguments`;
  const answer = mediaType === undefined ? (named.get(response) ?? `${capitalized(name)}Result`) : "string";
  const isPlannable = isRecord(operation.query) && "dry_run" in ((operation.query["properties"] ?? {}) as Json);
  const needs = scope === "public" ? "No key needed." : scope === "self" ? "Any valid key." : `Scope: \`${scope}\`.`;
  const more = description && brief(description);
  const lines = [`${comment([`${summary}.`, more, needs])}\n  ${name}(${argument}): Promise<${answer}>;`];
  if (isPlannable && effect !== "read")
    lines.unshift(
      `  /** What \`${name}\` would do. */\n  ${name}(input: Planned<${capitalized(name)}Arguments>): Promise<Plan>;`,
    );
  return lines.join("\n");
}

const union = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(" | ");

function definitions(): Json {
  const all = new Map<string, unknown>([...named].map(([schema, name]) => [name, toJson(schema, schema)]));
  all.set("Plan", toJson(Plan, Plan));
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    const input = inputOf(operation);
    if (input !== undefined) all.set(`${capitalized(name)}Arguments`, input);
    if (operation.mediaType === undefined && !named.has(operation.response))
      all.set(`${capitalized(name)}Result`, toJson(operation.response));
  }
  return Object.fromEntries(all);
}

/** TypeScript declarations of everything that the client takes and answers, without any library. */
export async function clientTypes(): Promise<string> {
  const schema = { title: "Everything", type: "object", definitions: definitions() };
  const types = await compile(schema as JSONSchema, "Everything", {
    additionalProperties: false,
    bannerComment: "",
    unreachableDefinitions: true,
  });
  const methods = Object.entries<Operation>(operations).map(([name, operation]) => methodOf(name, operation));
  const long = Object.entries<Operation>(operations).filter(([, { outlives }]) => outlives === true);
  return [
    types
      .replace("export interface Everything {}\n", "")
      .replaceAll(/^ *\/\*\*\n *\* This interface was referenced by [^/]*\*\/\n/gm, "")
      .replaceAll(/^( *)\*\n *\* This interface was referenced by [^/]*\*\/\n/gm, "$1*/\n")
      .replaceAll(/\/\*\*\n *\* (.*)\n *\*\//g, "/** $1 */"),
    `/** The closed list of error codes. */\nexport type ErrorCode = ${union(Object.keys(errorStatus))};\n`,
    `/** The input of a dry run. */\nexport type Planned<T> = T & { query: { dry_run: true } };\n`,
    `/** All operations of the service. */\nexport interface Client {\n${methods.join("\n")}\n}\n`,
    `/** Operations that outlive their request. */\nexport type LongOperationName = ${union(long.map(([name]) => name))};\n`,
  ].join("\n");
}
