import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { Settings } from "#config/settings.ts";
import { ManifestFile } from "../adapters/plugins/schema.ts";
import { isRecord } from "../kernel/values.ts";
import { operations } from "./index.ts";
import { ownSchemas } from "./schema.ts";
import { describeSchemaFault } from "./schema-fault.ts";

const ajv = new Ajv({ ...ownSchemas, verbose: true });

function faultOf(schema: object, value: unknown): string {
  const validate = ajv.compile(schema);
  validate(value);
  const [error] = validate.errors ?? [];
  if (error === undefined) throw new Error("the value fits the schema");
  return describeSchemaFault(error);
}

it.each<[object, unknown, string]>([
  [{ type: "string" }, 5, "must be a string"],
  [{ type: ["integer", "null"] }, "5", "must be an integer or null"],
  [{ type: "boolean" }, "true", "must be true or false"],
  [{ enum: ["a", "b"] }, "c", "must be one of a, b"],
  [{ const: "off" }, "on", "must be one of off"],
  [{ pattern: "^[a-z]+$", examples: ["local"] }, "A", 'must look like "local"'],
  [{ pattern: "^[^\\u0000-\\u001f]*$" }, "\n", "must not have control characters"],
  [{ minimum: 1 }, 0, "must be at least 1"],
  [{ maximum: 7 }, 8, "must be at most 7"],
  [{ minLength: 1 }, "", "must not be empty"],
  [{ minLength: 6 }, "five", "must have at least 6 characters"],
  [{ maxLength: 1 }, "ab", "must have at most 1 character"],
  [{ minItems: 1 }, [], "must not be empty"],
  [{ maxItems: 2 }, [1, 2, 3], "must have at most 2 items"],
  [{ uniqueItems: true }, ["a", "a"], "must not have duplicate items"],
  [{ required: ["name"] }, {}, "must have name"],
  [{ additionalProperties: false }, { a: 1 }, "must not have a"],
])("the schema %j with the value %j has the fault: %s", (schema, value, text) => {
  expect(faultOf(schema, value)).toBe(text);
});

/** All schemas with one of these keywords, with where they are. */
function schemasWith(keyword: string, value: unknown, path = ""): readonly [string, Record<string, unknown>][] {
  if (Array.isArray(value)) return value.flatMap((each, at) => schemasWith(keyword, each, `${path}.${at}`));
  if (!isRecord(value)) return [];
  const below = Object.entries(value).flatMap(([name, each]) => schemasWith(keyword, each, `${path}.${name}`));
  return typeof value[keyword] === "string" ? [[path, value], ...below] : below;
}

describe("a pattern is described by an example or by its characters, not as a regular expression", () => {
  const inputs = Object.entries(operations).map(([name, row]) => {
    const { params, query, body } = row as { params?: unknown; query?: unknown; body?: unknown };
    return [name, { params, query, body }];
  });
  it.each(schemasWith("pattern", { settings: Settings, plugin: ManifestFile, ...Object.fromEntries(inputs) }))(
    "at %s",
    (_, schema) => {
      const { pattern, examples } = schema;
      const text = describeSchemaFault({ keyword: "pattern", params: {}, parentSchema: schema });
      expect(text).toMatch(/^must (look like ".+"|not have control characters)/);
      for (const example of Array.isArray(examples) ? examples : [])
        expect(String(example)).toMatch(new RegExp(String(pattern), "u"));
    },
  );
});
