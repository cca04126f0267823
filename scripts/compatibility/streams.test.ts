import { describe, expect, it } from "vitest";
import { isRecord } from "#kernel/values.ts";
import { asyncapiDocument } from "#transports/http/asyncapi.ts";
import type { Json } from "./breaking.ts";
import { withoutTexts } from "./released.ts";
import { breakingStreams } from "./streams.ts";

const document = withoutTexts(asyncapiDocument("1.0.0")) as Json;
const changes = (before: Json, after: Json) => breakingStreams(before, after, "2026-11-29");

/** The document with other members in the object at a path; one that is undefined is gone. */
function changed(path: string, members: Json): Json {
  const copy = structuredClone(document);
  const found = path.split("/").reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), copy);
  if (!isRecord(found)) throw new RangeError(`nothing at ${path}`);
  Object.assign(found, members);
  // As it is kept: what is undefined is not there.
  return JSON.parse(JSON.stringify(copy)) as Json;
}

const schemas = "components/schemas";
const withoutStream = changed("channels", { health: undefined });
const elsewhere = changed("channels/health", { address: "/health" });
const withoutMember = changed(`${schemas}/OperationFrame/properties`, { cursor: undefined });
const mayBeMissing = changed(`${schemas}/HealthFrame`, { required: [] });
const ofAnotherType = changed(`${schemas}/DroppedFrame/properties`, { dropped: { type: "string" } });
const withoutFrame = changed("operations/sendLogs", { messages: [] });
const withoutMessage = changed("operations", { receiveLogs: undefined });
const narrower = changed(`${schemas}/LogFilterFrame/properties`, { grep: { type: "null" } });
const necessary = changed("channels/operations/bindings/ws/query", { required: ["id"] });

describe("a change that breaks clients of streams", () => {
  it.each<[string, Json, string]>([
    ["a stream that is gone", withoutStream, "stream health: is gone"],
    ["another address", elsewhere, "stream health: address is /health, was /api/v1/ws/health"],
    ["a parameter that is necessary", necessary, "stream operations: query.id: is required now"],
    ["a member that is gone", withoutMember, "stream operations: OperationFrame.cursor: is gone"],
    ["a member that may be missing", mayBeMissing, "stream health: HealthFrame.check_id: may be missing now"],
    ["another type", ofAnotherType, "stream logs: DroppedFrame.dropped: may be string now"],
    ["a frame that is gone", withoutFrame, "stream logs: LogEntry: is gone"],
    ["a message that is refused", withoutMessage, "stream logs: LogFilterFrame: is gone"],
    ["a message that may say less", narrower, "stream logs: LogFilterFrame.grep: no longer takes string"],
  ])("is %s", (_, after, fault) => {
    expect(changes(document, after)).toContain(fault);
  });

  it("is a kind of frame that clients do not know", () => {
    expect(changes(withoutFrame, document)).toContain("stream logs: LogEntry: is sent now");
  });

  it.each<[string, Json, Json]>([
    ["the same document", document, document],
    ["a new stream", withoutStream, document],
    ["a new member", withoutMember, document],
    ["a member that is always there", mayBeMissing, document],
    ["a new message", withoutMessage, document],
    ["a parameter that may be left out", necessary, document],
  ])("is not %s", (_, before, after) => {
    expect(changes(before, after)).toEqual([]);
  });
});
