import type { BinaryReader } from "@bufbuild/protobuf/wire";
import { type SpanStatus, spanKinds } from "#contract/traces.ts";
import type { KeptSpan, SpanGroup } from "#domain/ports/traces.ts";
import { keptSpan, latestNs, type SpanEventData, type SpanLinkData } from "#domain/traces/span.ts";
import { type Budget, collectAttributes } from "./attributes.ts";
import { maxEvents, maxLinks, maxRequestGroups, maxRequestSpans, maxSpanBytes, maxTextBytes } from "./receiver.ts";
import {
  bytesAt,
  delimitedEnd,
  fixed64At,
  MalformedTraces,
  readBody,
  readMessage,
  skipTo,
  textOf,
  uint32At,
} from "./wire.ts";

/*
 * ExportTraceServiceRequest by the field numbers of OTLP 1.x (opentelemetry/proto/trace/v1). Read by hand, not into messages
 * first: a body of four megabytes can have two million empty spans.
 */

export type Rejection = "invalid_id" | "invalid_time" | "too_many";

export interface DecodedTraces {
  readonly groups: readonly SpanGroup[];
  readonly spans: number;
  readonly rejected: Readonly<Record<Rejection, number>>;
}

const statuses: readonly SpanStatus[] = ["unset", "ok", "error"];
const traceIdBytes = 16;
const spanIdBytes = 8;
const tooManyDropped = 0xffff_ffff;

/** The id as hex digits; undefined for another length or all zeros. */
function idOf(bytes: Uint8Array, length: number): string | undefined {
  if (bytes.length !== length || bytes.every((byte) => byte === 0)) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

/** Whether there is no parent. */
const isNone = (bytes: Uint8Array): boolean =>
  bytes.length === 0 || (bytes.length === spanIdBytes && bytes.every((byte) => byte === 0));

const none = new Uint8Array(0);
const add = (a: number, b: number): number => Math.min(a + b, tooManyDropped);

/** Span.Event; undefined when its time is out of range. */
function readEvent(reader: BinaryReader, end: number, budget: Budget): SpanEventData | undefined {
  const collected = collectAttributes(budget);
  let [timeNs, name, dropped] = [0n, "", 0];
  readMessage(reader, end, (field, type) => {
    if (field === 1) timeNs = fixed64At(reader, type);
    else if (field === 2) name = textOf(bytesAt(reader, type), maxTextBytes);
    else if (field === 3) collected.read(reader, delimitedEnd(reader, type));
    else if (field === 4) dropped = uint32At(reader, type);
    else return false;
    return true;
  });
  budget.left -= name.length;
  if (timeNs > latestNs) return undefined;
  return {
    timeNs,
    name,
    attributes: collected.attributes(),
    droppedAttributes: add(dropped, collected.dropped()),
  };
}

/** Span.Link; undefined for invalid ids. */
function readLink(reader: BinaryReader, end: number, budget: Budget): SpanLinkData | undefined {
  const collected = collectAttributes(budget);
  let [traceId, spanId, dropped] = [none, none, 0] as [Uint8Array, Uint8Array, number];
  readMessage(reader, end, (field, type) => {
    if (field === 1) traceId = bytesAt(reader, type);
    else if (field === 2) spanId = bytesAt(reader, type);
    else if (field === 4) collected.read(reader, delimitedEnd(reader, type));
    else if (field === 5) dropped = uint32At(reader, type);
    else return false;
    return true;
  });
  const ids = { traceId: idOf(traceId, traceIdBytes), spanId: idOf(spanId, spanIdBytes) };
  if (ids.traceId === undefined || ids.spanId === undefined) return undefined;
  return {
    traceId: ids.traceId,
    spanId: ids.spanId,
    attributes: collected.attributes(),
    droppedAttributes: add(dropped, collected.dropped()),
  };
}

function readStatus(reader: BinaryReader, end: number): { code: number; message: string } {
  const status = { code: 0, message: "" };
  readMessage(reader, end, (field, type) => {
    if (field === 2) status.message = textOf(bytesAt(reader, type), maxTextBytes);
    else if (field === 3) status.code = uint32At(reader, type);
    else return false;
    return true;
  });
  return status;
}

/** Reads items of a repeated field up to a maximum, and counts those that are dropped. */
function boundedList<T>(
  most: number,
  budget: Budget,
  readItem: (reader: BinaryReader, end: number, budget: Budget) => T | undefined,
) {
  const items: T[] = [];
  let dropped = 0;
  return {
    items,
    dropped: () => dropped,
    read(reader: BinaryReader, end: number) {
      const hasSpace = items.length < most && budget.left > 0;
      const item = hasSpace ? readItem(reader, end, budget) : skipTo(reader, end);
      if (item === undefined) dropped += 1;
      else items.push(item);
    },
  };
}

function createSpanFields() {
  const budget: Budget = { left: maxSpanBytes };
  return {
    attributes: collectAttributes(budget),
    events: boundedList(maxEvents, budget, readEvent),
    links: boundedList(maxLinks, budget, readLink),
    traceId: none as Uint8Array,
    spanId: none as Uint8Array,
    parent: none as Uint8Array,
    traceState: "",
    name: "",
    kind: 0,
    startNs: 0n,
    endNs: 0n,
    droppedAttributes: 0,
    droppedEvents: 0,
    droppedLinks: 0,
    status: { code: 0, message: "" },
  };
}

/** Span. */
function readSpan(reader: BinaryReader, end: number, scope: string): KeptSpan | Rejection {
  const fields = createSpanFields();
  const { attributes, events, links } = fields;
  readMessage(reader, end, (field, type) => {
    if (field === 1) fields.traceId = bytesAt(reader, type);
    else if (field === 2) fields.spanId = bytesAt(reader, type);
    else if (field === 3) fields.traceState = textOf(bytesAt(reader, type), maxTextBytes);
    else if (field === 4) fields.parent = bytesAt(reader, type);
    else if (field === 5) fields.name = textOf(bytesAt(reader, type), maxTextBytes);
    else if (field === 6) fields.kind = uint32At(reader, type);
    else if (field === 7) fields.startNs = fixed64At(reader, type);
    else if (field === 8) fields.endNs = fixed64At(reader, type);
    else if (field === 9) attributes.read(reader, delimitedEnd(reader, type));
    else if (field === 10) fields.droppedAttributes = uint32At(reader, type);
    else if (field === 11) events.read(reader, delimitedEnd(reader, type));
    else if (field === 12) fields.droppedEvents = uint32At(reader, type);
    else if (field === 13) links.read(reader, delimitedEnd(reader, type));
    else if (field === 14) fields.droppedLinks = uint32At(reader, type);
    else if (field === 15) fields.status = readStatus(reader, delimitedEnd(reader, type));
    else return false;
    return true;
  });
  const { startNs, endNs, status } = fields;
  const traceId = idOf(fields.traceId, traceIdBytes);
  const spanId = idOf(fields.spanId, spanIdBytes);
  const parentSpanId = isNone(fields.parent) ? "" : idOf(fields.parent, spanIdBytes);
  if (traceId === undefined || spanId === undefined || parentSpanId === undefined) return "invalid_id";
  if (startNs > latestNs || endNs > latestNs) return "invalid_time";
  return keptSpan({
    traceId,
    spanId,
    parentSpanId,
    traceState: fields.traceState,
    scope,
    name: fields.name,
    kind: spanKinds[fields.kind] ?? "unspecified",
    startNs,
    endNs,
    status: statuses[status.code] ?? "unset",
    statusMessage: status.message,
    attributes: attributes.attributes(),
    droppedAttributes: add(fields.droppedAttributes, attributes.dropped()),
    events: events.items,
    droppedEvents: add(fields.droppedEvents, events.dropped()),
    links: links.items,
    droppedLinks: add(fields.droppedLinks, links.dropped()),
  });
}

function readScopeName(reader: BinaryReader, end: number): string {
  let name = "";
  readMessage(reader, end, (field, type) => {
    if (field !== 1) return false;
    name = textOf(bytesAt(reader, type), maxTextBytes);
    return true;
  });
  return name;
}

function createCollection() {
  const groups: SpanGroup[] = [];
  const rejected: Record<Rejection, number> = { invalid_id: 0, invalid_time: 0, too_many: 0 };
  let [spans, opened] = [0, 0];
  const open = (): void => {
    opened += 1;
    if (opened > maxRequestGroups) throw new MalformedTraces("it has too many resources and scopes");
  };

  /** ScopeSpans. Its fields may come in any order, and the name is needed first. */
  const readScope = (reader: BinaryReader, end: number, into: KeptSpan[]): void => {
    const start = reader.pos;
    let scope = "";
    readMessage(reader, end, (field, type) => {
      if (field !== 1) return false;
      scope = readScopeName(reader, delimitedEnd(reader, type));
      return true;
    });
    reader.pos = start;
    readMessage(reader, end, (field, type) => {
      if (field !== 2) return false;
      const at = delimitedEnd(reader, type);
      spans += 1;
      // Spans beyond the limit are only counted.
      if (spans > maxRequestSpans) {
        rejected.too_many += 1;
        skipTo(reader, at);
        return true;
      }
      const span = readSpan(reader, at, scope);
      if (typeof span === "string") rejected[span] += 1;
      else into.push(span);
      return true;
    });
  };

  return {
    groups,
    rejected,
    spans: () => spans,
    /** ResourceSpans. */
    readResource(reader: BinaryReader, end: number) {
      open();
      const collected = collectAttributes({ left: maxSpanBytes });
      const kept: KeptSpan[] = [];
      readMessage(reader, end, (field, type) => {
        if (field === 1) {
          readMessage(reader, delimitedEnd(reader, type), (inner, innerType) => {
            if (inner !== 1) return false;
            collected.read(reader, delimitedEnd(reader, innerType));
            return true;
          });
          return true;
        }
        if (field !== 2) return false;
        open();
        readScope(reader, delimitedEnd(reader, type), kept);
        return true;
      });
      if (kept.length === 0) return;
      const attributes = collected.attributes();
      const { "service.name": service } = attributes;
      groups.push({
        service: typeof service === "string" ? service : "",
        resource: JSON.stringify(attributes),
        spans: kept,
      });
    },
  };
}

/** Reads an OTLP request in protobuf. @throws MalformedTraces. */
export function decodeTraces(bytes: Uint8Array): DecodedTraces {
  return readBody(bytes, (reader) => {
    const collection = createCollection();
    readMessage(reader, reader.len, (field, type) => {
      if (field !== 1) return false;
      collection.readResource(reader, delimitedEnd(reader, type));
      return true;
    });
    return { groups: collection.groups, spans: collection.spans(), rejected: collection.rejected };
  });
}
