import type { TSchema } from "typebox";
import { apiBase } from "#contract/limits.ts";
import { tags } from "#contract/operation.ts";
import { type Stream, streams } from "#contract/streams.ts";
import { upperFirst } from "#kernel/text.ts";
import { createExamples } from "./openapi-examples.ts";
import { schemaName, toJson, usedSchemas } from "./openapi-schemas.ts";

type Json = Readonly<Record<string, unknown>>;

const examples = createExamples(schemaName);

/** The kinds of frames in one direction; none where the schema allows nothing. */
function framesOf(schema: TSchema): readonly TSchema[] {
  if ("anyOf" in schema) return schema.anyOf as readonly TSchema[];
  return "not" in schema ? [] : [schema];
}

const messageName = (name: string, schema: TSchema): string => schemaName(schema) ?? `${upperFirst(name)}Frame`;

const messagesOf = (name: string, schema: TSchema): readonly (readonly [string, TSchema])[] =>
  framesOf(schema).map((frame) => [messageName(name, frame), frame]);

function channel(base: string, name: string, stream: Stream): Json {
  const { path, summary, description, query, clientFrame, serverFrame } = stream;
  const messages = [...messagesOf(name, serverFrame), ...messagesOf(name, clientFrame)];
  return {
    address: `${base}${apiBase}${path}`,
    title: summary,
    description,
    messages: Object.fromEntries(messages.map(([message]) => [message, { $ref: `#/components/messages/${message}` }])),
    bindings: { ws: { method: "GET", query: { ...(toJson(query) as Json), type: "object" }, bindingVersion: "0.1.0" } },
  };
}

function direction(action: "send" | "receive", name: string, { tag, scope, summary }: Stream, schema: TSchema): Json {
  const messages = messagesOf(name, schema);
  if (messages.length === 0) return {};
  return {
    [`${action}${upperFirst(name)}`]: {
      action,
      channel: { $ref: `#/channels/${name}` },
      summary: action === "send" ? summary : "What a client may say",
      description: `Scope: \`${scope}\`.`,
      tags: [{ name: tag, description: tags[tag] }],
      messages: messages.map(([message]) => ({ $ref: `#/channels/${name}/messages/${message}` })),
    },
  };
}

/**
 * The streams as AsyncAPI 3 has them, from the service's side: it sends what its clients get. Made of the table of streams.
 * @param base the path of the service behind a reverse proxy.
 */
export function asyncapiDocument(version: string, base = ""): Json {
  const rows = Object.entries<Stream>(streams);
  const frames = rows.flatMap(([name, { serverFrame, clientFrame }]) => [
    ...messagesOf(name, serverFrame),
    ...messagesOf(name, clientFrame),
  ]);
  const messages = Object.fromEntries(
    frames.map(([name, schema]) => [
      name,
      {
        name,
        contentType: "application/json",
        payload: toJson(schema),
        examples: [{ payload: examples.ofAnswer(schema) }],
      },
    ]),
  );
  return {
    asyncapi: "3.0.0",
    id: "urn:steward",
    info: {
      title: "Steward",
      version,
      description:
        "The streams of the service: WebSockets whose frames are JSON text. What is asked and answered is in the OpenAPI document, `openapi.json` beside this one.",
      contact: { name: "The Steward project" },
      license: { name: "Apache License 2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
      tags: [...new Set(rows.map(([, { tag }]) => tag))].map((name) => ({ name, description: tags[name] })),
    },
    defaultContentType: "application/json",
    servers: {
      local: {
        host: "127.0.0.1:8470",
        protocol: "ws",
        description: "The service on this host; with TLS the protocol is `wss`.",
        security: ["apiKeyInQuery", "apiKey", "bearer"].map((name) => ({
          $ref: `#/components/securitySchemes/${name}`,
        })),
      },
    },
    channels: Object.fromEntries(rows.map(([name, stream]) => [name, channel(base, name, stream)])),
    operations: Object.fromEntries(
      rows.flatMap(([name, stream]) =>
        Object.entries({
          ...direction("send", name, stream, stream.serverFrame),
          ...direction("receive", name, stream, stream.clientFrame),
        }),
      ),
    ),
    components: {
      messages,
      schemas: usedSchemas(messages),
      securitySchemes: {
        apiKeyInQuery: {
          type: "httpApiKey",
          in: "query",
          name: "api_key",
          description: "Browsers cannot set headers.",
        },
        apiKey: { type: "httpApiKey", in: "header", name: "X-API-Key" },
        bearer: { type: "http", scheme: "bearer", description: "The same key, or a token made from it." },
      },
    },
  };
}
