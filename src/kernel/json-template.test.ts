import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillTemplate, templateNames } from "./text.ts";

const fields = { title: "web is down", text: 'a "b" \\ {title} $& \n', host: "h" };

describe("a template", () => {
  it("is filled in its strings alone, by the names of its fields, and not again in what it was filled with", () => {
    const template = {
      "{title}": ["{title}", 1, null, true, { note: "on {host}: {title} {other} {Title} {" }],
      n: 2.5,
    };
    expect(fillTemplate(template, fields)).toEqual({
      "{title}": ["web is down", 1, null, true, { note: "on h: web is down {other} {Title} {" }],
      n: 2.5,
    });
    expect(fillTemplate("{title}", fields)).toBe("web is down");
    expect(fillTemplate("{text}|{host}", fields)).toBe(`${fields.text}|h`);
    expect(fillTemplate(["{constructor}", "{__proto__}", "{to_string}"], fields)).toEqual([
      "{constructor}",
      "{__proto__}",
      "{to_string}",
    ]);
  });

  it("lists its placeholders, each once", () => {
    expect(templateNames({ a: "{title} {host}", b: ["{title}", 3, { c: "{titel}" }], "{key}": null })).toEqual([
      "title",
      "host",
      "titel",
    ]);
  });
});

/** The value with each string replaced by what stands at its place in the other, where that is a string. */
function shapeOf(value: unknown): unknown {
  if (typeof value === "string") return "";
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value).map(([name, member]) => [name, shapeOf(member)]);
}

it("a template keeps its form when filled with hostile values", () => {
  const hostile = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom('","admin":true,"x":"', "\\", '\\"', "}{", "\u2028", "{title}", "$1$&", "\ud83d"),
  );
  const strings = fc.oneof(hostile, fc.constantFrom("{title}", "a {text} b {title}", "{{title}}"));
  const template = fc.jsonValue().chain((value) => fc.oneof(fc.constant(value), fc.dictionary(hostile, strings)));
  fc.assert(
    fc.property(template, hostile, hostile, (value, title, text) => {
      const wire = JSON.stringify(fillTemplate(value, { title, text }));
      expect(shapeOf(JSON.parse(wire))).toEqual(shapeOf(JSON.parse(JSON.stringify(value))));
    }),
  );
});
