import type { Type as Typebox } from "typebox";

type Schema = Readonly<Record<string, unknown>>;

/** Marks what may be left out of an object. Nobody who reads or copies a schema sees it. */
const optional = Symbol("optional");

const plain =
  (type: string) =>
  (options?: Schema): Schema => ({ type, ...options });

const builders = {
  Array: (items: Schema, options?: Schema): Schema => ({ type: "array", items, ...options }),
  Boolean: plain("boolean"),
  Integer: plain("integer"),
  Literal: (value: string | number | boolean, options?: Schema): Schema => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  Never: (options?: Schema): Schema => ({ not: {}, ...options }),
  Null: plain("null"),
  Number: plain("number"),
  Object(properties: Readonly<Record<string, Schema>>, options?: Schema): Schema {
    const required = Object.entries(properties).flatMap(([name, schema]) => (optional in schema ? [] : name));
    return { type: "object", ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: Schema): Schema => Object.defineProperty({ ...schema }, optional, { value: true }),
  Record: ({ pattern = "^.*$" }: Schema, values: Schema, options?: Schema): Schema => ({
    type: "object",
    patternProperties: { [String(pattern)]: values },
    ...options,
  }),
  String: plain("string"),
  Union: (anyOf: readonly Schema[], options?: Schema): Schema => ({ anyOf, ...options }),
  Unknown: (options?: Schema): Schema => ({ ...options }),
  Unsafe: (schema: Schema): Schema => ({ ...schema }),
};

/**
 * Typebox's builders, as many of them as are used. Their types are Typebox's own; what they make is plain JSON Schema, which takes
 * these few lines, while Typebox itself is hundreds of modules: loading them was a fifth of the time that the service took to start.
 */
export const Type = builders as unknown as Pick<typeof Typebox, keyof typeof builders>;
