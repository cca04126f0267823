import { describe, expect, it } from "vitest";
import { apiBase } from "#contract/limits.ts";
import { type Stream, streams } from "#contract/streams.ts";
import { asyncapiDocument } from "#transports/http/asyncapi.ts";
import { createSchemaCheck } from "../api/document-schemas.ts";

type Json = Readonly<Record<string, unknown>>;
interface Message {
  readonly payload: Json;
  readonly examples: readonly { readonly payload: unknown }[];
}

const document = asyncapiDocument("1.2.3") as {
  readonly channels: Readonly<Record<string, { readonly address: string; readonly messages: Json }>>;
  readonly operations: Readonly<
    Record<string, { readonly action: string; readonly messages: readonly { $ref: string }[] }>
  >;
  readonly components: { readonly messages: Readonly<Record<string, Message>> };
};

const messagesOf = (operation: string): readonly string[] =>
  (document.operations[operation]?.messages ?? []).map(({ $ref }) => $ref.split("/").at(-1) ?? "");

describe("the AsyncAPI document", () => {
  it("has a channel for each stream", () => {
    const addresses = Object.entries(document.channels).map(([name, { address }]) => [name, address]);
    expect(addresses).toEqual(Object.entries<Stream>(streams).map(([name, { path }]) => [name, `${apiBase}${path}`]));
  });

  it("has the frames of both directions, and no operation for one that has none", () => {
    expect(messagesOf("sendLogs")).toEqual(["LogEntry", "DroppedFrame", "ErrorFrame"]);
    expect(messagesOf("receiveLogs")).toEqual(["LogFilterFrame"]);
    expect(messagesOf("sendHealth")).toEqual(["HealthFrame", "DroppedFrame", "ErrorFrame"]);
    expect(Object.keys(document.operations)).not.toContain("receiveHealth");
  });

  it.each(Object.entries(document.components.messages))("has an example as the schema has it: %s", (_, message) => {
    const faultOf = createSchemaCheck(document);
    expect(message.examples.length).toBeGreaterThan(0);
    for (const { payload } of message.examples) expect(faultOf(message.payload, payload)).toBeUndefined();
  });
});
