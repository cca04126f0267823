import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { ManifestFile } from "#adapters/plugins/schema.ts";
import { Settings } from "#config/settings.ts";
import { operations } from "#contract/index.ts";
import { RootRequestSchema, rootOperations, rootTasks } from "#root/tasks.ts";

/** Everything that the program makes validators of, which itself leaves this look out (`ownSchemas`). */
const schemas: readonly (readonly [name: string, schema: object])[] = [
  ["settings", Settings],
  ["manifest of a plugin", ManifestFile],
  ["request to root", RootRequestSchema],
  ...Object.entries(rootOperations).map(([name, schema]) => [`operation ${name}`, schema] as const),
  ...Object.entries(rootTasks).map(([name, { input }]) => [`${name}, input`, input] as const),
  ...Object.entries(operations).flatMap(([name, operation]) =>
    (["params", "query", "body"] as const).flatMap((part) => {
      const schema = operation[part as keyof typeof operation] as object | undefined;
      return schema === undefined ? [] : [[`${name}, ${part}`, schema] as const];
    }),
  ),
];

describe("schemas that are compiled without validation against the meta-schema", () => {
  const ajv = new Ajv({ strict: false });

  it("are many", () => expect(schemas.length).toBeGreaterThan(60));

  it.each(schemas)("are schemas: %s", (_, schema) => {
    expect(ajv.validateSchema(schema), ajv.errorsText()).toBe(true);
  });
});
