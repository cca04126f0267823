import type { TSchema } from "typebox";
import { Approval } from "#contract/approvals.ts";
import { deprecationMarks, deprecationText } from "#contract/deprecation.ts";
import { errorMeaning, errorStatus } from "#contract/errors.ts";
import { operations, resources } from "#contract/index.ts";
import { apiBase } from "#contract/limits.ts";
import { canWait, errorsOf, type Operation, type Operations, Plan, tags } from "#contract/operation.ts";
import { OperationEntry } from "#contract/operation-entry.ts";
import { sessionHeader } from "#contract/sessions.ts";
import { type Stream, streams } from "#contract/streams.ts";
import { formatEvent } from "./event-stream.ts";
import { createExamples } from "./openapi-examples.ts";
import { headerComponents, headersOf, parameterComponents, requestHeadersOf } from "./openapi-headers.ts";
import { propertiesOf, requiredOf, schemaName, toJson, usedSchemas } from "./openapi-schemas.ts";

type Json = Readonly<Record<string, unknown>>;

const examples = createExamples(schemaName);

function parameters(operation: Pick<Operation, "params" | "query">): readonly Json[] {
  const list: Json[] = [];
  for (const [place, part] of [
    ["path", operation.params],
    ["query", operation.query],
  ] as const) {
    if (part === undefined) continue;
    for (const [name, member] of Object.entries(propertiesOf(part))) {
      const { description, examples, ...schema } = member as Json & { readonly deprecated?: boolean };
      const example = Array.isArray(examples) ? { example: examples[0] } : {};
      const deprecated = schema["deprecated"] === true ? { deprecated: true } : {};
      const required = place === "path" || requiredOf(part).includes(name);
      list.push({
        name,
        in: place,
        required,
        ...(description !== undefined && { description }),
        schema,
        ...deprecated,
        ...example,
      });
    }
  }
  return list;
}

const named = (each: Json): Json => Object.fromEntries(Object.entries(each).map(([name, value]) => [name, { value }]));

const planContent = { "application/json": { schema: toJson(Plan), example: examples.ofAnswer(Plan) } };

/** The body of a success. A mutation that is 200 answers its result or a plan. */
function successContent(operation: Operation): Json {
  const { response, streams: events, effect, status = 200 } = operation;
  if (operation.mediaType !== undefined) {
    const { examples: given, ...schema } = toJson(response) as Json;
    return { [operation.mediaType]: { schema, example: Array.isArray(given) ? given[0] : "" } };
  }
  if (operation.mediaTypes !== undefined) {
    const schema = toJson(response);
    return Object.fromEntries(
      Object.entries(operation.mediaTypes).map(([name, example]) => [name, { schema, example }]),
    );
  }
  const result = { schema: toJson(response), example: examples.ofAnswer(response) };
  const either = {
    schema: { anyOf: [result.schema, toJson(Plan)] },
    examples: named({ result: result.example, plan: examples.ofAnswer(Plan) }),
  };
  return {
    "application/json": effect === "read" || status !== 200 ? result : either,
    ...(events && {
      // `itemSchema` of OpenAPI 3.2 is not read by tools yet; JSON Schema says the same of the text.
      "text/event-stream": {
        schema: {
          type: "string",
          contentMediaType: "text/event-stream",
          contentSchema: { type: "array", items: toJson(events) },
        },
        example: eventsText(events),
      },
    }),
  };
}

/** One event of each kind, as they are sent. */
const eventsText = (schema: TSchema): string =>
  ("anyOf" in schema ? (schema.anyOf as readonly TSchema[]) : [schema])
    .map((each) => examples.ofAnswer(each) as { readonly event: string; readonly data: object })
    .filter(({ event }) => event !== "error")
    .map(formatEvent)
    .join("");

const goesOn = "With `Prefer: respond-async`: it continues, and this is its operation, at the address in `Location`";
const waits = "It waits for the approval of another key, and this is the approval, at the address in `Location`";

/** What 202 says; undefined where it is not an answer. */
function acceptedAs(operation: Operation) {
  const ofOperation = { schema: toJson(OperationEntry), example: examples.ofAnswer(OperationEntry) };
  const ofApproval = { schema: toJson(Approval), example: examples.ofAnswer(Approval) };
  if (!canWait(operation)) return operation.outlives ? { ...ofOperation, description: goesOn } : undefined;
  if (!operation.outlives) return { ...ofApproval, description: waits };
  const schema = { anyOf: [ofOperation.schema, ofApproval.schema] };
  return { schema, example: ofOperation.example, description: `${goesOn}. ${waits}` };
}

function responses(operation: Operation): Json {
  const { status = 200, effect } = operation;
  const success = (of: number, description: string, content: Json) => ({
    description,
    headers: headersOf({ kind: "success", operation, status: of }),
    content,
  });
  const byStatus: Record<string, unknown> = { [status]: success(status, "Success", successContent(operation)) };
  // A plan makes nothing, so it is never 201.
  if (effect !== "read" && status !== 200) byStatus["200"] = success(200, "What would be done", planContent);
  if (operation.versioned) {
    byStatus["304"] = {
      description: "Nothing has changed since the answer whose tag is in `If-None-Match`",
      headers: headersOf({ kind: "success", operation, status: 304 }),
    };
  }
  const later = acceptedAs(operation);
  if (later !== undefined) {
    const { schema, example, description } = later;
    byStatus["202"] = success(202, description, { "application/json": { schema, example } });
  }
  for (const code of errorsOf(operation)) byStatus[errorStatus[code]] = { $ref: `#/components/responses/${code}` };
  return byStatus;
}

function operationObject(name: string, operation: Operation): Json {
  const { tag, summary, description, scope, alsoNeeds = [], effect, body, deprecated, forSessions } = operation;
  const list = [...parameters(operation), ...requestHeadersOf(operation)];
  const scopes = [scope, ...alsoNeeds].map((each) => `\`${each}\``).join(" and ");
  const ofSelf = forSessions ? "Any session of a browser, and no key." : "Any valid key.";
  const needs = scope === "public" ? "No key needed." : scope === "self" ? ofSelf : `Scope: ${scopes}.`;
  return {
    operationId: name,
    tags: [tag],
    summary,
    description: [deprecated && deprecationText(deprecated), description, needs].filter(Boolean).join("\n\n"),
    ...(deprecated && deprecationMarks(deprecated)),
    ...(list.length > 0 && { parameters: list }),
    ...(body !== undefined && {
      requestBody: {
        required: requiredOf(body).length > 0,
        content: { "application/json": { schema: toJson(body), example: examples.ofRequest(body) } },
      },
    }),
    responses: responses(operation),
    security: securityOf(operation),
    "x-scope": scope,
    ...(alsoNeeds.length > 0 && { "x-also-needs": alsoNeeds }),
    ...(operation.narrows !== undefined && { "x-narrows": operation.narrows }),
    "x-effect": effect,
  };
}

/** Both halves of a session. */
const session = { sessionCookie: [], sessionSecret: [] };

/** Sessions are named where nothing else is taken: some generated clients send all that is named at once. */
function securityOf({ scope, forSessions, openToLoopback }: Operation): readonly Json[] {
  if (scope === "public") return [];
  if (forSessions) return [session];
  return [{ apiKey: [] }, { bearer: [] }, ...(openToLoopback ? [{}] : [])];
}

/** A stream is a GET that is answered with 101. OpenAPI cannot describe what follows, so the frames are an extension. */
function streamObject(name: string, stream: Stream): Json {
  const { tag, summary, description, scope, clientFrame, serverFrame, errors = [] } = stream;
  const refused = [
    "VALIDATION_ERROR",
    "UNAUTHORIZED",
    "FORBIDDEN",
    ...errors,
    "RATE_LIMITED",
    "INTERNAL_ERROR",
  ] as const;
  // Only the AsyncAPI document has them by their names.
  const frames = Object.entries(resources).flatMap(([key, schema]) => (key.endsWith("Frame") ? [schema] : []));
  return {
    operationId: `${name}Stream`,
    tags: [tag],
    summary,
    description: `${description}\n\nScope: \`${scope}\`.`,
    parameters: parameters(stream),
    responses: {
      101: {
        description: "The connection is a WebSocket from here on (RFC 6455).",
        headers: headersOf({ kind: "stream" }),
      },
      ...Object.fromEntries(refused.map((code) => [errorStatus[code], { $ref: `#/components/responses/${code}` }])),
      default: { $ref: "#/components/responses/INTERNAL_ERROR" },
    },
    security: [
      { apiKeyInQuery: [] },
      { apiKey: [] },
      { bearer: [] },
      session,
      { sessionCookie: [], ticketInQuery: [] },
    ],
    "x-scope": scope,
    "x-narrows": "answer",
    "x-effect": "read",
    "x-websocket": { client: toJson(clientFrame, frames), server: toJson(serverFrame, frames) },
  };
}

function errorResponses(table: Operations): Json {
  const rows = Object.values(table);
  const ofDeprecated = rows.some(({ deprecated }) => deprecated !== undefined);
  return Object.fromEntries(
    [...new Set(rows.flatMap(errorsOf))].map((code) => [
      code,
      {
        description: errorMeaning[code],
        headers: headersOf({ kind: "error", code, ofDeprecated }),
        content: {
          "application/json": {
            schema: { $ref: "#/components/schemas/ErrorBody" },
            example: { error: { code, message: errorMeaning[code] } },
          },
        },
      },
    ]),
  );
}

/**
 * @param table for tests of what no row has.
 * @param base the path of the service behind a reverse proxy.
 */
export function openapiDocument(version: string, table: Operations = operations, base = ""): Json {
  const errors = errorResponses(table);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, operation] of Object.entries(table)) {
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
        "Every answer has the header `X-Request-Id`. Every error has the error body. Mutations take `?dry_run=true` and then answer with what they would do.",
      contact: { name: "The Steward project" },
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: base === "" ? "/" : base, description: "This service" }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
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
        sessionCookie: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-steward",
          description:
            "The first half of a session, for browsers. With a port in the address its name ends in `-PORT`; without TLS it begins with `steward`.",
        },
        sessionSecret: {
          type: "apiKey",
          in: "header",
          name: sessionHeader,
          description:
            "The second half of a session, which the page keeps. Both halves are taken wherever a key is, and named where a key is not.",
        },
        ticketInQuery: {
          type: "apiKey",
          in: "query",
          name: "ticket",
          description: "On WebSockets alone, instead of the second half.",
        },
        bearer: { type: "http", scheme: "bearer", description: "The same key, or a token made from it." },
      },
      parameters: parameterComponents,
      headers: headerComponents(table),
      responses: errors,
      schemas: usedSchemas(paths, errors),
    },
  };
}
