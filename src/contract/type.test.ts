import { Type as Typebox } from "typebox";
import { describe, expect, it } from "vitest";
import { Type } from "./type.ts";

type Builders = typeof Type;

const samples: Readonly<Record<keyof Builders, (type: Builders) => readonly unknown[]>> = {
  Array: (type) => [type.Array(type.String()), type.Array(type.Null(), { minItems: 1 })],
  Boolean: (type) => [type.Boolean(), type.Boolean({ description: "x" })],
  Integer: (type) => [type.Integer(), type.Integer({ minimum: 1 })],
  Literal: (type) => [type.Literal("a"), type.Literal(1), type.Literal(true, { description: "x" })],
  Never: (type) => [type.Never(), type.Never({ description: "x" })],
  Null: (type) => [type.Null(), type.Null({ description: "x" })],
  Number: (type) => [type.Number(), type.Number({ maximum: 1 })],
  Object: (type) => [
    type.Object({}),
    type.Object({ a: type.Optional(type.String()) }),
    type.Object(
      { a: type.String(), b: type.Optional(type.Integer()), c: type.Null() },
      { additionalProperties: false },
    ),
    // A copy of what is optional is not.
    type.Object({ a: { ...type.Optional(type.String()) } }),
  ],
  Optional: (type) => [type.Optional(type.String({ description: "x" }))],
  Record: (type) => [
    type.Record(type.String(), type.Integer()),
    type.Record(type.String({ pattern: "^[a-z]+$" }), type.String(), { description: "x" }),
  ],
  String: (type) => [type.String(), type.String({ format: "date-time" })],
  Union: (type) => [
    type.Union([type.String(), type.Null()]),
    type.Union([type.Literal(1), type.Literal(2)], { description: "x" }),
  ],
  Unknown: (type) => [type.Unknown(), type.Unknown({ description: "x" })],
  Unsafe: (type) => [type.Unsafe<string>({ type: "string", enum: ["a", "b"] })],
};

describe("the builders of schemas", () => {
  it.each(Object.entries(samples))("make what Typebox makes: %s", (_, make) => {
    // Text, since the order of the properties is that of the documents.
    expect(JSON.stringify(make(Type), undefined, 1)).toBe(JSON.stringify(make(Typebox), undefined, 1));
  });

  it("leave a schema that is optional elsewhere as it is", () => {
    const name = Type.String();
    Type.Object({ name: Type.Optional(name) });
    expect(Type.Object({ name })).toMatchObject({ required: ["name"] });
  });
});
