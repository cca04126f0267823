import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parseTimestamp } from "#kernel/clock.ts";
import { isRecord } from "#kernel/values.ts";

export type Json = Readonly<Record<string, unknown>>;

export const at = (value: unknown, key: string): unknown => (isRecord(value) ? value[key] : undefined);

/** Undefined for what is not JSON, which no schema allows. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The schema with references to other components by their name alone, and objects that have no members but those that it lists. */
function strictSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strictSchema);
  if (!isRecord(schema)) return schema;
  const { $ref: reference } = schema;
  if (typeof reference === "string") return { $ref: reference.replace("#/components/schemas/", "component:") };
  const strict = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strictSchema(value)]));
  const isClosed = isRecord(schema["properties"]) && schema["additionalProperties"] === undefined;
  // A member may have the name `properties`.
  return isClosed && schema["type"] !== undefined ? { ...strict, additionalProperties: false } : strict;
}

/** What is wrong with a value by a schema of the document, whose objects are closed; undefined for nothing. */
export function createSchemaCheck(document: Json): (schema: Json, value: unknown) => string | undefined {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: false });
  ajv.addFormat("date-time", (text) => parseTimestamp(text) !== undefined);
  ajv.addFormat("date", /^\d{4}-\d{2}-\d{2}$/);
  for (const [name, schema] of Object.entries(at(document["components"], "schemas") ?? {})) {
    ajv.addSchema({ ...(strictSchema(schema) as Json), $id: `component:${name}` });
  }
  const compiled = new WeakMap<object, ValidateFunction>();
  return (schema, value) => {
    let validate = compiled.get(schema);
    if (validate === undefined) {
      validate = ajv.compile(strictSchema(schema) as Json);
      compiled.set(schema, validate);
    }
    return validate(value) ? undefined : ajv.errorsText(validate.errors, { dataVar: "" });
  };
}
