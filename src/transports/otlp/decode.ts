import type { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type SpanStatus, spanKinds } from "#contract/traces.ts";
import type { KeptSpan, SpanGroup } from "#domain/ports/traces.ts";
import { keptSpan, type SpanEventData, type SpanLinkData } from "#domain/traces/span.ts";
import { latestNs } from "#domain/traces/time.ts";
import { type Budget, collectAttributes } from "./attributes.ts";
import { maxEvents, maxLinks, maxRequestGroups, maxRequestSpans, maxSpanBytes, maxTextBytes } from "./limits.ts";
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
 * ExportTraceServiceRequest and what is in it, by the field numbers of the OpenTelemetry protocol 1.x (opentelemetry/proto/trace/v1).
 * Read by hand and not into messages first: a body of four megabytes can have two million empty spans.
 */

/** Why a span is not taken. */
export type Rejection = "invalid_id" | "invalid_time" | "too_many";

/** What a request had. */
export interface DecodedTraces {
  readonly groups: readonly SpanGroup[];
  readonly spans: number;
  readonly rejected: Readonly<Record<Rejection, number>>;
}

const statuses: readonly SpanStatus[] = ["unset", "ok", "error"];
const traceIdBytes = 16;
const spanIdBytes = 8;
const tooManyDropped = 0xffff_ffff;

/** The id as hex digits; undefined when it has another length or is all zeros, which is no id. */
function idOf(bytes: Uint8Array, length: number): string | undefined {
  if (bytes.length !== length || bytes.every((byte) => byte === 0)) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

/** Whether a parent is named at all. */
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

/** Span.Link; undefined when it leads nowhere. */
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

/** Status. */
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

/** A list that takes no more than so many, and counts those that it has not taken. */
function boundedList<T>(most: number) {
  const items: T[] = [];
  let dropped = 0;
  return {
    items,
    dropped: () => dropped,
    add(budget: Budget, read: () => T | undefined, skip: () => void) {
      if (items.length >= most || budget.left <= 0) {
        dropped += 1;
        skip();
        return;
      }
      const item = read();
      if (item === undefined) dropped += 1;
      else items.push(item);
    },
  };
}

/** Span, as far as it is read. */
function createSpanFields() {
  const budget: Budget = { left: maxSpanBytes };
  return {
    budget,
    attributes: collectAttributes(budget),
    events: boundedList<SpanEventData>(maxEvents),
    links: boundedList<SpanLinkData>(maxLinks),
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

type SpanFields = ReturnType<typeof createSpanFields>;

/** How each field of a span is read. */
const spanFields: Readonly<Record<number, (into: SpanFields, reader: BinaryReader, type: WireType) => void>> = {
  1: (into, reader, type) => {
    into.traceId = bytesAt(reader, type);
  },
  2: (into, reader, type) => {
    into.spanId = bytesAt(reader, type);
  },
  3: (into, reader, type) => {
    into.traceState = textOf(bytesAt(reader, type), maxTextBytes);
  },
  4: (into, reader, type) => {
    into.parent = bytesAt(reader, type);
  },
  5: (into, reader, type) => {
    into.name = textOf(bytesAt(reader, type), maxTextBytes);
  },
  6: (into, reader, type) => {
    into.kind = uint32At(reader, type);
  },
  7: (into, reader, type) => {
    into.startNs = fixed64At(reader, type);
  },
  8: (into, reader, type) => {
    into.endNs = fixed64At(reader, type);
  },
  9: ({ attributes }, reader, type) => attributes.read(reader, delimitedEnd(reader, type)),
  10: (into, reader, type) => {
    into.droppedAttributes = uint32At(reader, type);
  },
  11({ events, budget }, reader, type) {
    const end = delimitedEnd(reader, type);
    events.add(
      budget,
      () => readEvent(reader, end, budget),
      () => skipTo(reader, end),
    );
  },
  12: (into, reader, type) => {
    into.droppedEvents = uint32At(reader, type);
  },
  13({ links, budget }, reader, type) {
    const end = delimitedEnd(reader, type);
    links.add(
      budget,
      () => readLink(reader, end, budget),
      () => skipTo(reader, end),
    );
  },
  14: (into, reader, type) => {
    into.droppedLinks = uint32At(reader, type);
  },
  15: (into, reader, type) => {
    into.status = readStatus(reader, delimitedEnd(reader, type));
  },
};

/** Span. */
function readSpan(reader: BinaryReader, end: number, scope: string): KeptSpan | Rejection {
  const fields = createSpanFields();
  readMessage(reader, end, (field, type) => {
    const read = spanFields[field];
    read?.(fields, reader, type);
    return read !== undefined;
  });
  const { startNs, endNs, attributes, events, links, status } = fields;
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

/** InstrumentationScope: its name. */
function readScopeName(reader: BinaryReader, end: number): string {
  let name = "";
  readMessage(reader, end, (field, type) => {
    if (field !== 1) return false;
    name = textOf(bytesAt(reader, type), maxTextBytes);
    return true;
  });
  return name;
}

/** What one request has been found to have so far. */
function createCollection() {
  const groups: SpanGroup[] = [];
  const rejected: Record<Rejection, number> = { invalid_id: 0, invalid_time: 0, too_many: 0 };
  let [spans, opened] = [0, 0];
  const open = (): void => {
    opened += 1;
    if (opened > maxRequestGroups) throw new MalformedTraces("it has too many resources and scopes");
  };

  /** ScopeSpans. Its fields may come in any order, and the name is wanted first. */
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
      // A span beyond the limit is counted and not looked at.
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

/**
 * Reads a request of the OpenTelemetry protocol, as protobuf.
 * @throws MalformedTraces when it is none.
 */
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
