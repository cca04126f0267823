import { expect, it } from "vitest";
import { isRecord, parseJsonObject, recordsIn } from "./values.ts";

it("records are distinguished from other values, and parsed from JSON", () => {
  expect([{}, { a: 1 }, [], null, undefined, "text", 1].map(isRecord)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
  expect(recordsIn([{ a: 1 }, null, [], { b: 2 }])).toEqual([{ a: 1 }, { b: 2 }]);
  expect(recordsIn({ a: 1 })).toEqual([]);
  expect(['{"a":1}', "[1]", "null", "{", ""].map(parseJsonObject)).toEqual([
    { a: 1 },
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
