import type { TSchema } from "typebox";
import { errorMeaning, errorStatus } from "#contract/errors.ts";
import { operations, resources } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import { errorsOf, type Operation, Plan } from "#contract/operation.ts";
import { OperationEntry } from "#contract/operation-entry.ts";
import { type Stream, streams } from "#contract/streams.ts";

type Json = Readonly<Record<string, unknown>>;

const plainSchemas = new Map<unknown, string>(Object.entries(resources).map(([name, schema]) => [schema, name]));

/** The schema as plain JSON, each named resource in it as a reference. `except` is the one being defined. */
function toJson(schema: unknown, except?: unknown): unknown {
  const name = schema === except ? undefined : plainSchemas.get(schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(schema)) return schema.map((item) => toJson(item));
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, toJson(value)]));
}

const mediaTypeOf = (operation: Operation): string => operation.mediaType ?? "application/json";

const propertiesOf = (schema: TSchema): Readonly<Record<string, Json>> =>
  "properties" in schema ? (schema.properties as Readonly<Record<string, Json>>) : {};

const requiredOf = (schema: TSchema): readonly string[] =>
  "required" in schema ? (schema.required as readonly string[]) : [];

function parameters(operation: Pick<Operation, "params" | "query">): readonly Json[] {
  const list: Json[] = [];
  for (const [place, part] of [
    ["path", operation.params],
    ["query", operation.query],
  ] as const) {
    if (part === undefined) continue;
    for (const [name, member] of Object.entries(propertiesOf(part))) {
      const { description, examples, ...schema } = member;
      const example = Array.isArray(examples) ? { example: examples[0] } : {};
      const required = place === "path" || requiredOf(part).includes(name);
      list.push({ name, in: place, required, ...(description !== undefined && { description }), schema, ...example });
    }
  }
  return list;
}

const limitHeaders = Object.fromEntries(
  ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy"].map((name) => [
    name,
    { $ref: `#/components/headers/${name}` },
  ]),
);

function responses(operation: Operation): Json {
  const headers = {
    "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" },
    ...(operation.scope === "public" || operation.openToLoopback ? {} : limitHeaders),
  };
  const events = operation.streams && { "text/event-stream": { schema: { type: "string" } } };
  const content = (schema: unknown) => ({
    description: "Success",
    headers,
    content: { [mediaTypeOf(operation)]: { schema }, ...events },
  });
  const result = toJson(operation.response);
  const { status = 200 } = operation;
  const isMutation = operation.effect !== "read";
  // A plan is answered with 200.
  const byStatus: Record<string, unknown> =
    isMutation && status !== 200
      ? { 200: { ...content(toJson(Plan)), description: "What would be done" }, [status]: content(result) }
      : { [status]: content(isMutation ? { anyOf: [result, toJson(Plan)] } : result) };
  if (operation.outlives) {
    byStatus["202"] = {
      description: "With `Prefer: respond-async`: it goes on, and this is its operation, at the address in `Location`",
      headers: {
        ...headers,
        Location: { $ref: "#/components/headers/Location" },
        "Preference-Applied": { $ref: "#/components/headers/Preference-Applied" },
      },
      content: { "application/json": { schema: toJson(OperationEntry) } },
    };
  }
  for (const code of errorsOf(operation)) byStatus[errorStatus[code]] = { $ref: `#/components/responses/${code}` };
  return byStatus;
}

function operationObject(name: string, operation: Operation): Json {
  const { tag, summary, description, scope, alsoNeeds = [], effect, body } = operation;
  const list = parameters(operation);
  const named = [scope, ...alsoNeeds].map((each) => `\`${each}\``).join(" and ");
  const needs = scope === "public" ? "No key needed." : scope === "self" ? "Any valid key." : `Scope: ${named}.`;
  const isPublic = scope === "public";
  return {
    operationId: name,
    tags: [tag],
    summary,
    description: [description, needs].filter(Boolean).join("\n\n"),
    ...(list.length > 0 && { parameters: list }),
    ...(body !== undefined && {
      requestBody: { required: requiredOf(body).length > 0, content: { "application/json": { schema: toJson(body) } } },
    }),
    responses: responses(operation),
    security: isPublic ? [] : [{ apiKey: [] }, { bearer: [] }, ...(operation.openToLoopback ? [{}] : [])],
    "x-scope": scope,
    ...(alsoNeeds.length > 0 && { "x-also-needs": alsoNeeds }),
    ...(operation.narrows !== undefined && { "x-narrows": operation.narrows }),
    "x-effect": effect,
  };
}

/** A stream is a GET that is answered with 101. OpenAPI cannot describe what follows, so the frames are an extension. */
function streamObject(name: string, stream: Stream): Json {
  const { tag, summary, description, scope, clientFrame, serverFrame } = stream;
  const refused = ["VALIDATION_ERROR", "UNAUTHORIZED", "FORBIDDEN", "RATE_LIMITED", "INTERNAL_ERROR"] as const;
  return {
    operationId: `${name}Stream`,
    tags: [tag],
    summary,
    description: `${description}\n\nScope: \`${scope}\`.`,
    parameters: parameters(stream),
    responses: {
      101: { description: "The connection is a WebSocket from here on (RFC 6455)." },
      ...Object.fromEntries(refused.map((code) => [errorStatus[code], { $ref: `#/components/responses/${code}` }])),
      default: { $ref: "#/components/responses/INTERNAL_ERROR" },
    },
    security: [{ apiKeyInQuery: [] }, { apiKey: [] }, { bearer: [] }],
    "x-scope": scope,
    "x-narrows": "answer",
    "x-effect": "read",
    "x-websocket": { client: toJson(clientFrame, clientFrame), server: toJson(serverFrame, serverFrame) },
  };
}

const usedCodes = new Set(Object.values<Operation>(operations).flatMap(errorsOf));

const errorResponses = Object.fromEntries(
  [...usedCodes].map((code) => [
    code,
    {
      description: errorMeaning[code],
      headers: {
        "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" },
        ...(code === "UNAUTHORIZED" && { "WWW-Authenticate": { $ref: "#/components/headers/WWW-Authenticate" } }),
        ...((code === "RATE_LIMITED" || code === "UNAVAILABLE") && {
          "Retry-After": { $ref: "#/components/headers/Retry-After" },
        }),
      },
      content: { "application/json": { schema: { $ref: "#/components/schemas/ErrorBody" } } },
    },
  ]),
);

const header = (description: string, type: "string" | "integer") => ({ description, schema: { type } });

const headers = {
  "X-Request-Id": header("Id of this request in the log.", "string"),
  "X-RateLimit-Limit": header("Requests in the tighter window.", "integer"),
  "X-RateLimit-Remaining": header("Requests left in the tighter window.", "integer"),
  "X-RateLimit-Reset": header("When the tighter window starts anew, epoch seconds.", "integer"),
  "RateLimit-Policy": header(
    "Both windows, and the day's tokens where a budget of them was asked for: name, quota, seconds.",
    "string",
  ),
  RateLimit: header(
    "The tighter window, and the tokens: name, how much is left, seconds until it starts anew.",
    "string",
  ),
  "Retry-After": header("Seconds to wait.", "integer"),
  Location: header("Address of the operation.", "string"),
  "Preference-Applied": header("`respond-async` (RFC 7240).", "string"),
  "WWW-Authenticate": header("How to authenticate (RFC 6750).", "string"),
};

function usedSchemas(paths: unknown): Json {
  const used: Record<string, unknown> = {};
  const visit = (value: unknown): void => {
    for (const [, name = ""] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (Object.hasOwn(used, name)) continue;
      const schema = Object.entries(resources).find(([key]) => key === name)?.[1];
      used[name] = toJson(schema, schema);
      visit(used[name]);
    }
  };
  visit(paths);
  visit(errorResponses);
  return used;
}

export function openapiDocument(version: string): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    const path = operation.base === "root" ? operation.path : `${apiBase}${operation.path}`;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(name, operation) };
  }
  for (const [name, stream] of Object.entries<Stream>(streams)) {
    paths[`${apiBase}${stream.path}`] = { get: streamObject(name, stream) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Steward",
      version,
      summary: "Looks after a Linux host over HTTP and JSON.",
      description:
        "Every answer bears `X-Request-Id`. Every error has the error body. Mutations take `?dry_run=true` and then answer with what they would do.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "This service" }],
    tags: [
      { name: "Health", description: "How the host and the service are." },
      { name: "System", description: "The host and its services." },
      { name: "Packages", description: "Packages of the host, and those that could be." },
      { name: "Connectors", description: "Language models behind one interface." },
      { name: "Access", description: "Keys and tokens." },
      { name: "Observability", description: "Metrics." },
    ],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
        apiKeyInQuery: {
          type: "apiKey",
          in: "query",
          name: "api_key",
          description: "On WebSockets alone, where browsers cannot set headers.",
        },
        bearer: { type: "http", scheme: "bearer", description: "The same key, or a token made from it." },
      },
      headers,
      responses: errorResponses,
      schemas: usedSchemas(paths),
    },
  };
}
