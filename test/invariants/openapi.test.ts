import { describe, expect, it } from "vitest";
import { operations, resources } from "#contract/index.ts";
import type { Operation } from "#contract/operation.ts";
import { tags } from "#contract/operation.ts";
import { upperFirst } from "#kernel/text.ts";
import { isRecord } from "#kernel/values.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { createSchemaCheck } from "../api/document-schemas.ts";

type Json = Readonly<Record<string, unknown>>;
interface Content {
  readonly schema: Json;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
}
interface OperationObject {
  readonly operationId: string;
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly tags: readonly string[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
}

const document = openapiDocument("1.2.3") as {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: Readonly<Record<"schemas" | "responses", Readonly<Record<string, Json>>>>;
};
const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const schemaNames = Object.keys(document.components.schemas);

/** Bodies of requests and of successes, by what they are of. */
const bodies = described.flatMap(({ operationId, requestBody, responses }) =>
  Object.entries({ request: requestBody, ...responses }).flatMap(([of, part]) =>
    Object.entries(part?.content ?? {}).map(
      ([mediaType, content]) => [`${operationId}, ${of}, ${mediaType}`, content] as const,
    ),
  ),
);
const jsonBodies = bodies.filter(([name]) => name.endsWith("application/json"));
const otherBodies = bodies.filter(([name]) => !name.endsWith("application/json"));

describe("names of schemas", () => {
  /** What generators of clients append to the name of an operation for types of their own. */
  const appended = [
    "Result",
    "Response",
    "Responses",
    "Request",
    "Params",
    "Query",
    "Body",
    "Data",
    "Error",
    "Errors",
    "Headers",
  ];

  it("are none that a generator makes of an operation", () => {
    const made = Object.keys(operations).flatMap((name) => ["", ...appended].map((word) => upperFirst(name) + word));
    expect(schemaNames.filter((name) => made.includes(name))).toEqual([]);
  });

  it("differ in more than the case of their letters", () => {
    expect(new Set(schemaNames.map((name) => name.toLowerCase())).size).toBe(schemaNames.length);
  });

  it("are there for each body of a request, with the word Input, and for each answer", () => {
    const rows = Object.entries<Operation>(operations);
    const nameOf = (schema: unknown) => Object.entries(resources).find(([, each]) => each === schema)?.[0];
    for (const [name, { body, response, mediaType, mediaTypes }] of rows) {
      if (body !== undefined) expect([name, nameOf(body)]).toEqual([name, expect.stringMatching(/^[A-Z]\w+Input$/)]);
      const alternatives: readonly unknown[] =
        "anyOf" in response ? (response.anyOf as readonly unknown[]) : [response];
      for (const each of mediaType === undefined && mediaTypes === undefined ? alternatives : []) {
        expect([name, nameOf(each)]).toEqual([name, expect.stringMatching(/^[A-Z]\w+$/)]);
      }
    }
  });
});

describe("examples", () => {
  const faultOf = createSchemaCheck(document);

  it("are there for each body", () => expect(jsonBodies.length).toBeGreaterThan(100));

  it.each(jsonBodies)("are as the schema has it: %s", (_, { schema, example, examples }) => {
    const given = example === undefined ? Object.values(examples ?? {}).map(({ value }) => value) : [example];
    expect(given.length).toBeGreaterThan(0);
    for (const each of given) expect(faultOf(schema, each)).toBeUndefined();
  });

  it.each(otherBodies)("are there: %s", (_, { schema, example }) => {
    expect(example).toEqual(expect.stringMatching(/./));
    expect(faultOf(schema, example)).toBeUndefined();
  });

  it.each(Object.entries(document.components.responses))("are as the schema of errors has it: %s", (code, response) => {
    const { "application/json": content } = (response as { content: Readonly<Record<string, Content>> }).content;
    expect(content?.example).toMatchObject({ error: { code } });
    expect(faultOf(content?.schema ?? {}, content?.example)).toBeUndefined();
  });
});

describe("what readers get beside the schemas", () => {
  it("has a description of every tag, and no tag without operations", () => {
    expect(document.tags.map(({ name }) => name)).toEqual(Object.keys(tags));
    expect(document.tags.every(({ description }) => /^[A-Z].*\.$/.test(description))).toBe(true);
    expect(new Set(described.flatMap((each) => each.tags))).toEqual(new Set(Object.keys(tags)));
  });

  it("tells the kinds of an event apart by a discriminator", () => {
    expect(document.components.schemas["ChatEvent"]).toMatchObject({
      discriminator: {
        propertyName: "event",
        mapping: { delta: "#/components/schemas/ChatDeltaEvent", done: "#/components/schemas/ChatDoneEvent" },
      },
    });
  });

  /** Members that say what they are by their name, in all schemas. */
  const plainNames = new Set(
    [
      "success message error code details name description hostname version architecture unit units user uid gid home",
      "pid signal threads processes port protocol address family path paths size_bytes used_bytes total_bytes read_bytes",
      "written_bytes inodes_used duration_ms total architecture current_version new_version is_security model tty",
      "operation_id snapshot_id check_id id key_id method os cpu memory disk host kernel running type event data",
      "requires_reboot packages services users logs plugins connectors alerts silences traces events links mounts swaps",
      "results what reason who why files mount timer socket kind change action status pass warn fail skip unknown",
      "check preview slice options prefix_length location origin suite component relation maintainer homepage summary",
      "hidden_processes routes_total resolvers processes_total active_state rules listens guard progress restarted",
      "system text mode before after ignores_failure is_active is_read_only control commands command left file",
      "wants requires conflicts requisite binds_to part_of upholds required_by requisite_of bound_by consists_of upheld_by",
      "wanted_by conflicted_by on_success on_failure on_success_of on_failure_of propagates_reload_to propagates_stop_to",
      "triggers last_run last next percent min max mean",
    ].flatMap((line) => line.split(" ")),
  );

  function* unexplained(schema: unknown, where: string): Generator<string> {
    if (Array.isArray(schema)) for (const each of schema) yield* unexplained(each, where);
    if (!isRecord(schema)) return;
    const { properties, ...rest } = schema;
    for (const [name, member] of Object.entries(isRecord(properties) ? properties : {})) {
      const isPlain = plainNames.has(name) || !isRecord(member) || "$ref" in member || "description" in member;
      if (!isPlain) yield `${where}.${name}`;
      yield* unexplained(member, `${where}.${name}`);
    }
    yield* unexplained(Object.values(rest), where);
  }

  it("explains each member that its name does not explain", () => {
    expect([...unexplainedOf(document.components.schemas)]).toEqual([]);
  });

  it("describes each parameter of a path, a query and a header", () => {
    const given = described.flatMap(({ operationId, parameters = [] }) =>
      parameters.flatMap((each) => ("$ref" in each ? [] : [{ operationId, ...each }])),
    );
    const isPlain = ({ description = "" }: Parameter): boolean => /^[A-Z`].*\.$/.test(description);
    expect(given.length).toBeGreaterThan(100);
    expect(
      given.filter((each) => !isPlain(each)).map((each) => `${each.operationId}, ${each.in} ${each.name}`),
    ).toEqual([]);
  });

  function* unexplainedOf(schemas: Json): Generator<string> {
    for (const [name, schema] of Object.entries(schemas)) yield* unexplained(schema, name);
  }
});
