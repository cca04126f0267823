import type { TSchema } from "typebox";
import { resources } from "#contract/index.ts";

type Json = Readonly<Record<string, unknown>>;

const plainSchemas = new Map<unknown, string>(Object.entries(resources).map(([name, schema]) => [schema, name]));

export const schemaName = (schema: unknown): string | undefined => plainSchemas.get(schema);

/** The schema as plain JSON, each named resource in it as a reference but for those of `except`, such as the one being defined. */
export function toJson(schema: unknown, except: readonly unknown[] = []): unknown {
  const name = except.includes(schema) ? undefined : plainSchemas.get(schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(schema)) return schema.map((item) => toJson(item, except));
  if (typeof schema !== "object" || schema === null) return schema;
  const plain = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, toJson(value, except)]));
  return { ...plain, ...discriminatorOf(schema, except) };
}

/** The member by which the alternatives of a union differ, where all are named and have a constant in it. */
function discriminatorOf(schema: object, except: readonly unknown[]): Json | undefined {
  const alternatives = "anyOf" in schema ? (schema.anyOf as readonly TSchema[]) : [];
  const [first] = alternatives;
  const propertyName = first && Object.keys(propertiesOf(first)).find((name) => alternatives.every(constantIn(name)));
  if (propertyName === undefined || !alternatives.every((each) => plainSchemas.has(each) && !except.includes(each)))
    return undefined;
  const mapping = alternatives.map((each) => [
    propertiesOf(each)[propertyName]?.["const"],
    `#/components/schemas/${plainSchemas.get(each)}`,
  ]);
  return { discriminator: { propertyName, mapping: Object.fromEntries(mapping) } };
}

const constantIn =
  (name: string) =>
  (schema: TSchema): boolean =>
    typeof propertiesOf(schema)[name]?.["const"] === "string" && requiredOf(schema).includes(name);

export const propertiesOf = (schema: TSchema): Readonly<Record<string, Json>> =>
  "properties" in schema ? (schema.properties as Readonly<Record<string, Json>>) : {};

export const requiredOf = (schema: TSchema): readonly string[] =>
  "required" in schema ? (schema.required as readonly string[]) : [];

/** The named schemas that the parts of a document refer to, and those that these refer to. */
export function usedSchemas(...parts: readonly unknown[]): Json {
  const used: Record<string, unknown> = {};
  const visit = (value: unknown): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (Object.hasOwn(used, name)) continue;
      const schema = Object.entries(resources).find(([key]) => key === name)?.[1];
      used[name] = toJson(schema, [schema]);
      visit(used[name]);
    }
  };
  visit(parts);
  return used;
}
