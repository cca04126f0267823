import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openapiDocument } from "#transports/http/openapi.ts";
import { breakingChanges } from "./breaking.ts";
import { withoutTexts } from "./released.ts";

type Json = Readonly<Record<string, unknown>>;

const today = "2026-11-27";
const changes = (before: Json, after: Json): readonly string[] => breakingChanges(before, after, today);

const document = withoutTexts(openapiDocument("1.0.0")) as Json;

const thing = {
  type: "object",
  properties: { name: { type: "string" }, size: { type: "integer" } },
  required: ["name"],
};

/** A document with one operation. */
const withOperation = (rest: Json): Json => ({
  paths: { "/things": { post: { operationId: "makeThing", "x-scope": "things:write", ...rest } } },
  components: { schemas: { Thing: thing } },
});
const taking = (schema: unknown): Json =>
  withOperation({ requestBody: { content: { "application/json": { schema } } }, responses: {} });
const asking = (...parameters: readonly Json[]): Json => withOperation({ parameters, responses: {} });
const answering = (schema: unknown): Json =>
  withOperation({ responses: { 200: { content: { "application/json": { schema } } } } });
const strict = (properties: Json, required: readonly string[] = []): Json => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const [text, number] = [{ type: "string" }, { type: "integer" }];

/** Which errors an operation has, by status: the code that the document names, or none. */
const failing = (errors: Readonly<Record<string, string | undefined>>): Json =>
  withOperation({
    responses: Object.fromEntries(
      Object.entries(errors).map(([status, code]) => [
        status,
        code === undefined ? { description: "" } : { $ref: `#/components/responses/${code}` },
      ]),
    ),
  });

const place = "POST /things";

describe("a breaking change", () => {
  it.each<[string, Json, Json, string]>([
    ["an operation that is gone", taking(text), { paths: {} }, "is gone"],
    [
      "another scope",
      taking(text),
      withOperation({ "x-scope": "all", responses: {} }),
      "x-scope is all, was things:write",
    ],
    ["a parameter that is gone", asking({ in: "query", name: "a", schema: text }), asking(), "query a: is gone"],
    [
      "a parameter that is required",
      asking(),
      asking({ in: "query", name: "a", required: true, schema: text }),
      "query a: is required now",
    ],
    ["an error that is gone", failing({ 404: "NOT_FOUND" }), failing({}), "404: is gone"],
    ["an error with another status", failing({ 404: "NOT_FOUND" }), failing({ 410: "NOT_FOUND" }), "404: is gone"],
    [
      "an error with another code",
      failing({ 404: "NOT_FOUND" }),
      failing({ 404: "GONE" }),
      "404: is GONE, was NOT_FOUND",
    ],
    [
      "an error whose code is no longer named",
      failing({ 404: "NOT_FOUND" }),
      failing({ 404: undefined }),
      "404: is without a code, was NOT_FOUND",
    ],
    ["an error that it did not have", failing({}), failing({ 409: "CONFLICT" }), "409: is an error now"],
    ["a member that is refused", taking(strict({ a: text })), taking(strict({})), "body.a: is gone"],
    ["a member that is required", taking(strict({})), taking(strict({ a: text }, ["a"])), "body.a: is required now"],
    [
      "a smaller bound",
      taking({ type: "integer", maximum: 9 }),
      taking({ type: "integer", maximum: 8 }),
      "body: maximum is 8, was 9",
    ],
    ["a new bound", taking(number), taking({ type: "integer", minimum: 1 }), "body: minimum is 1, was free"],
    ["another form", taking(text), taking({ type: "string", pattern: "^a" }), "body: pattern is ^a, was free"],
    ["a value that is refused", taking({ enum: ["a", "b"] }), taking({ enum: ["a"] }), "body: no longer takes b"],
    ["a type that is refused", taking({ type: ["string", "null"] }), taking(text), "body: no longer takes null"],
    [
      "a list of another kind",
      taking({ type: "array", items: text }),
      taking({ type: "array", items: number }),
      "body[]: no longer takes string",
    ],
    ["an answer that is gone", answering(thing), withOperation({ responses: {} }), "200: is gone"],
    [
      "a member of an answer that is gone",
      answering(thing),
      answering({ ...thing, properties: { name: text } }),
      "200.size: is gone",
    ],
    [
      "a member that may be missing",
      answering(thing),
      answering({ ...thing, required: [] }),
      "200.name: may be missing now",
    ],
    ["a member that may be null", answering(text), answering({ type: ["string", "null"] }), "200: may be null now"],
    [
      "a member of a schema by its name",
      answering({ $ref: "#/components/schemas/Thing" }),
      answering(strict({ name: number }, ["name"])),
      "200.name: may be integer now",
    ],
    [
      "an event that lacks a member",
      answering({ type: "string", contentSchema: { type: "array", items: thing } }),
      answering({ type: "string", contentSchema: { type: "array", items: { ...thing, properties: { name: text } } } }),
      "200[].size: is gone",
    ],
    [
      "another form of an answer",
      answering({ anyOf: [text, number] }),
      answering({ anyOf: [text, thing] }),
      "200: one of its forms is another",
    ],
  ])("is %s", (_, before, after, fault) => {
    expect(changes(before, after)).toContain(`${place}: ${fault}`);
  });

  it.each<[string, Json, Json]>([
    ["a new operation", { paths: {} }, taking(text)],
    ["a new parameter", asking(), asking({ in: "query", name: "a", schema: text })],
    ["a wider bound", taking({ type: "integer", maximum: 8 }), taking({ type: "integer", maximum: 9 })],
    [
      "a bound on a type that is new",
      taking({ type: "boolean" }),
      taking({ type: ["boolean", "string"], pattern: "^a$" }),
    ],
    ["a new value in a request", taking({ enum: ["a"] }), taking({ enum: ["a", "b"] })],
    [
      "a new value in an answer",
      answering({ type: "string", enum: ["a"] }),
      answering({ type: "string", enum: ["a", "b"] }),
    ],
    [
      "a new member of an answer",
      answering({ ...thing, properties: { name: text, size: number } }),
      answering({ ...thing, properties: { ...thing.properties, more: text } }),
    ],
    ["a member that is always there", answering(thing), answering({ ...thing, required: ["name", "size"] })],
    ["an integer in place of a number", answering({ type: "number" }), answering(number)],
    ["another name of a schema", answering({ $ref: "#/components/schemas/Thing" }), answering(thing)],
  ])("is not %s", (_, before, after) => {
    expect(changes(before, after)).toEqual([]);
  });
});

describe("a deprecated element", () => {
  const marks = (sunset: string): Json => ({
    deprecated: true,
    "x-deprecated-since": "2025-06-01",
    "x-sunset": sunset,
  });
  const operation = (sunset: string): Json => withOperation({ ...marks(sunset), responses: {} });
  const member = (sunset: string) => ({ ...text, ...marks(sunset) });
  const parameter = (sunset: string): Json => asking({ in: "query", name: "a", schema: member(sunset) });
  const [taken, answered] = [
    (sunset: string): Json => taking(strict({ a: member(sunset) })),
    (sunset: string): Json => answering(strict({ a: member(sunset) })),
  ];

  it.each<[string, (sunset: string) => Json, Json, string]>([
    ["an operation", operation, { paths: {} }, place],
    ["a parameter", parameter, asking(), `${place}: query a`],
    ["a member that is taken", taken, taking(strict({})), `${place}: body.a`],
    ["a member that is answered", answered, answering(strict({})), `${place}: 200.a`],
  ])("may be removed after its sunset, not before: %s", (_, old, now, where) => {
    expect(changes(old("2026-11-26"), now)).toEqual([]);
    // It is in use the whole day.
    expect(changes(old(today), now)).toEqual([`${where}: is gone before its sunset, ${today}`]);
    expect(changes(old("2027-01-01"), now)).toEqual([`${where}: is gone before its sunset, 2027-01-01`]);
  });

  it("may have a later sunset, not an earlier one", () => {
    const [earlier, later] = [operation("2027-01-01"), operation("2027-02-01")];
    expect(changes(earlier, later)).toEqual([]);
    expect(changes(later, earlier)).toEqual([`${place}: its sunset is 2027-01-01, was 2027-02-01`]);
    expect(changes(earlier, withOperation({ responses: {} }))).toEqual([]);
    expect(changes(withOperation({ responses: {} }), earlier)).toEqual([]);
  });
});

interface Member {
  readonly schema: Record<string, unknown>;
  readonly name: string;
}

/** Each member of an object in the answers and bodies of the document. */
function membersOf(value: unknown): readonly Member[] {
  if (Array.isArray(value)) return value.flatMap(membersOf);
  if (typeof value !== "object" || value === null) return [];
  const schema = value as Record<string, unknown>;
  const { properties } = schema;
  const own =
    typeof properties === "object" && properties !== null && !Array.isArray(properties) && "type" in schema
      ? Object.keys(properties).map((name) => ({ schema, name }))
      : [];
  return [...own, ...Object.values(schema).flatMap(membersOf)];
}

describe("the OpenAPI document", () => {
  it("does not break its own clients", () => {
    expect(changes(document, document)).toEqual([]);
  });

  it("breaks clients by any removed member of an answer, and by no added one", () => {
    const count = membersOf(document["paths"]).length;
    fc.assert(
      fc.property(fc.nat({ max: count - 1 }), (at) => {
        const changed = structuredClone(document);
        const member = membersOf(changed["paths"])[at];
        if (member === undefined) throw new Error("no member there");
        const { [member.name]: _, ...rest } = member.schema["properties"] as Json;
        member.schema["properties"] = rest;
        const isOpenInput = changes(document, changed).length === 0;
        // Only a body that takes any member takes one that is not listed.
        if (isOpenInput) expect(member.schema["additionalProperties"]).not.toBe(false);
        expect(changes(changed, document).filter((each) => !each.endsWith("is required now"))).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });
});
