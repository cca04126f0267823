import { expect, it } from "vitest";
import { isRecord } from "#kernel/values.ts";
import { RootRequestSchema, rootOperations, rootTasks } from "./tasks.ts";

const inputs: readonly (readonly [name: string, schema: unknown])[] = [
  ...Object.entries(rootTasks).map(([name, { input }]) => [name, input] as const),
  ...Object.entries(rootOperations),
];

/** The schemas in a schema, and itself. */
function withParts(schema: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!isRecord(schema)) return [];
  const { properties, patternProperties, items } = schema;
  const members = [properties, patternProperties].flatMap((each) => (isRecord(each) ? Object.values(each) : []));
  return [schema, ...[...members, items].flatMap(withParts)];
}

// Some are the contract's, whose bodies may become wider than what root may be asked for.
it.each(inputs)(
  "the input of %s takes no member that it does not name, and no string or list without a bound",
  (_, schema) => {
    const parts = withParts(schema);
    const open = parts.filter(({ type, additionalProperties }) => type === "object" && additionalProperties !== false);
    const unbounded = parts.filter(
      ({ type, pattern, maxLength, enum: choices, maxItems }) =>
        (type === "string" && pattern === undefined && maxLength === undefined && choices === undefined) ||
        (type === "array" && maxItems === undefined),
    );
    const unknown = parts.filter(({ type }) => typeof type !== "string");
    expect({ open, unbounded, unknown }).toEqual({ open: [], unbounded: [], unknown: [] });
  },
);

it("a request to the privileged side names nothing but its id, its task and the input of that", () => {
  expect(RootRequestSchema).toMatchObject({ additionalProperties: false, required: ["id", "task", "input"] });
});
