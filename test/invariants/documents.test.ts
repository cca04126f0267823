import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { ManifestFile } from "#adapters/plugins/schema.ts";
import { Settings } from "#config/settings.ts";
import { operations, resources } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import type { Operation } from "#contract/operation.ts";
import { type Stream, streams } from "#contract/streams.ts";
import { upperFirst } from "#kernel/text.ts";
import { RootRequestSchema, rootOperations, rootTasks } from "#root/tasks.ts";
import { asyncapiDocument } from "#transports/http/asyncapi.ts";
import { openapiDocument } from "#transports/http/openapi.ts";
import { createSchemaCheck } from "../api/document-schemas.ts";

type Json = Readonly<Record<string, unknown>>;
interface Content {
  readonly schema: Json;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
type Contents = Readonly<Record<string, Content>>;
interface OperationObject {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Contents };
  readonly responses: Readonly<Record<string, { readonly content?: Contents }>>;
}

const rows = Object.entries<Operation>(operations);

describe("the OpenAPI document", () => {
  const document = openapiDocument("1.2.3") as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
    readonly components: {
      readonly schemas: Readonly<Record<string, Json>>;
      readonly responses: Readonly<Record<string, { readonly content: Contents }>>;
    };
  };
  const schemaNames = Object.keys(document.components.schemas);
  const faultOf = createSchemaCheck(document);

  it("names no schema as a generator of clients names a type of its own", () => {
    const appended = "Result Response Responses Request Params Query Body Data Error Errors Headers".split(" ");
    const made = rows.flatMap(([name]) => ["", ...appended].map((word) => upperFirst(name) + word));
    expect(schemaNames.filter((name) => made.includes(name))).toEqual([]);
    // Generators write files, on file systems that ignore the case too.
    expect(new Set(schemaNames.map((name) => name.toLowerCase())).size).toBe(schemaNames.length);
  });

  it("names each body of a request, with the word Input, and each answer", () => {
    const nameOf = (schema: unknown) => Object.entries(resources).find(([, each]) => each === schema)?.[0];
    for (const [name, { body, response, mediaType, mediaTypes }] of rows) {
      if (body !== undefined) expect([name, nameOf(body)]).toEqual([name, expect.stringMatching(/^[A-Z]\w+Input$/)]);
      if (mediaType !== undefined || mediaTypes !== undefined) continue;
      for (const each of "anyOf" in response ? (response.anyOf as readonly unknown[]) : [response])
        expect([name, nameOf(each)]).toEqual([name, expect.stringMatching(/^[A-Z]\w+$/)]);
    }
  });

  it("has an example of each body, which its schema accepts", () => {
    const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const bodies = described.flatMap(({ operationId, requestBody, responses }) =>
      Object.entries({ request: requestBody, ...responses }).flatMap(([of, part]) =>
        Object.entries(part?.content ?? {}).map(
          ([type, content]) => [`${operationId}, ${of}, ${type}`, content] as const,
        ),
      ),
    );
    expect(bodies.length).toBeGreaterThan(100);
    for (const [name, { schema, example, examples = {} }] of bodies) {
      const given = example === undefined ? Object.values(examples).map(({ value }) => value) : [example];
      expect([name, given.length > 0 && given.every((each) => each !== "")]).toEqual([name, true]);
      for (const each of given) expect([name, faultOf(schema, each)]).toEqual([name, undefined]);
    }
  });

  it("has an example of each error, with its code", () => {
    for (const [code, response] of Object.entries(document.components.responses)) {
      const { "application/json": content } = response.content;
      expect(content?.example).toMatchObject({ error: { code } });
      expect([code, faultOf(content?.schema ?? {}, content?.example)]).toEqual([code, undefined]);
    }
  });
});

describe("the AsyncAPI document", () => {
  interface Message {
    readonly payload: Json;
    readonly examples: readonly { readonly payload: unknown }[];
  }
  const document = asyncapiDocument("1.2.3") as {
    readonly channels: Readonly<Record<string, { readonly address: string }>>;
    readonly operations: Readonly<Record<string, { readonly messages: readonly { readonly $ref: string }[] }>>;
    readonly components: { readonly messages: Readonly<Record<string, Message>> };
  };

  it("has a channel for each stream", () => {
    const addresses = Object.entries(document.channels).map(([name, { address }]) => [name, address]);
    expect(addresses).toEqual(Object.entries<Stream>(streams).map(([name, { path }]) => [name, `${apiBase}${path}`]));
  });

  it("has the frames of both directions, and no operation for a direction without frames", () => {
    const framesOf = (operation: string): readonly (string | undefined)[] | undefined =>
      document.operations[operation]?.messages.map(({ $ref }) => $ref.split("/").at(-1));
    expect(framesOf("sendLogs")).toEqual(["LogEntry", "DroppedFrame", "ErrorFrame"]);
    expect(framesOf("receiveLogs")).toEqual(["LogFilterFrame"]);
    expect(framesOf("receiveHealth")).toBeUndefined();
  });

  it("has an example of each message, which its schema accepts", () => {
    const faultOf = createSchemaCheck(document);
    for (const [name, { payload, examples }] of Object.entries(document.components.messages)) {
      expect([name, examples.length > 0]).toEqual([name, true]);
      for (const example of examples) expect([name, faultOf(payload, example.payload)]).toEqual([name, undefined]);
    }
  });
});

it("schemas that the program compiles without the meta-schema are valid schemas", () => {
  const schemas: readonly (readonly [name: string, schema: object])[] = [
    ["settings", Settings],
    ["manifest of a plugin", ManifestFile],
    ["request to root", RootRequestSchema],
    ...Object.entries(rootOperations).map(([name, schema]) => [`operation ${name}`, schema] as const),
    ...Object.entries(rootTasks).map(([name, { input }]) => [`${name}, input`, input] as const),
    ...rows.flatMap(([name, operation]) =>
      (["params", "query", "body"] as const).flatMap((part) => {
        const schema = operation[part];
        return schema === undefined ? [] : [[`${name}, ${part}`, schema] as const];
      }),
    ),
  ];
  expect(schemas.length).toBeGreaterThan(60);
  const ajv = new Ajv({ strict: false });
  for (const [name, schema] of schemas)
    expect([name, ajv.validateSchema(schema), ajv.errorsText()]).toEqual([name, true, "No errors"]);
});
