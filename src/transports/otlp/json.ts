import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { isRecord } from "#kernel/values.ts";
import { maxDepth } from "./receiver.ts";
import { MalformedTraces } from "./wire.ts";

/*
 * OTLP/JSON is converted to protobuf, so that limits are enforced once and forwarded requests have one format. It differs from
 * protobuf's JSON: ids are hex digits (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
 */

/** A member of a JSON object, and the field that it becomes. */
interface Member {
  readonly name: string;
  readonly field: number;
}
type FieldWriter = (writer: BinaryWriter, member: Member, value: unknown, depth: number) => void;
type Message = Readonly<Record<string, readonly [field: number, write: FieldWriter]>>;

const latestFixed64 = 2n ** 64n - 1n;

const describeValue = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value === "number" ? `${value}` : typeof value;

const mismatch = ({ name }: Member, expected: string, value: unknown): MalformedTraces =>
  new MalformedTraces(`${name}: expected ${expected}, got ${describeValue(value)}`);

function stringOf(member: Member, value: unknown): string {
  if (typeof value !== "string") throw mismatch(member, "string", value);
  return value;
}

/** An integer in JSON: a number, or decimal digits. */
function integerOf(member: Member, value: unknown, least: bigint, most: bigint): bigint {
  const isInteger = typeof value === "number" ? Number.isInteger(value) : /^-?\d{1,20}$/.test(String(value));
  if (!isInteger || (typeof value !== "number" && typeof value !== "string")) throw mismatch(member, "integer", value);
  const integer = BigInt(value);
  if (integer < least || integer > most) throw new MalformedTraces(`${member.name}: the integer is out of range`);
  return integer;
}

const text: FieldWriter = (writer, member, value) =>
  void writer.tag(member.field, WireType.LengthDelimited).string(stringOf(member, value).toWellFormed());

/** Malformed hex becomes an invalid id, which is counted where ids are read. */
const hex: FieldWriter = (writer, member, value) => {
  const digits = stringOf(member, value);
  const isHex = /^([0-9a-fA-F]{2}){0,32}$/.test(digits);
  writer.tag(member.field, WireType.LengthDelimited).bytes(isHex ? Buffer.from(digits, "hex") : new Uint8Array(1));
};

const base64: FieldWriter = (writer, member, value) =>
  void writer.tag(member.field, WireType.LengthDelimited).bytes(Buffer.from(stringOf(member, value), "base64"));

const fixed64: FieldWriter = (writer, member, value) =>
  void writer.tag(member.field, WireType.Bit64).fixed64(integerOf(member, value, 0n, latestFixed64));

const int64: FieldWriter = (writer, member, value) =>
  void writer.tag(member.field, WireType.Varint).int64(integerOf(member, value, -(2n ** 63n), 2n ** 63n - 1n));

const uint32: FieldWriter = (writer, member, value) =>
  void writer.tag(member.field, WireType.Varint).uint32(Number(integerOf(member, value, 0n, 2n ** 32n - 1n)));

const bool: FieldWriter = (writer, member, value) => {
  if (typeof value !== "boolean") throw mismatch(member, "boolean", value);
  writer.tag(member.field, WireType.Varint).bool(value);
};

const double: FieldWriter = (writer, member, value) => {
  const isNamed = typeof value === "string" && /^(NaN|-?Infinity|-?\d+(\.\d+)?([eE][+-]?\d+)?)$/.test(value);
  if (typeof value !== "number" && !isNamed) throw mismatch(member, "number", value);
  writer.tag(member.field, WireType.Bit64).double(Number(value));
};

const nested =
  (message: () => Message): FieldWriter =>
  (writer, member, value, depth) => {
    if (!isRecord(value)) throw mismatch(member, "object", value);
    writer.tag(member.field, WireType.LengthDelimited).fork();
    writeMessage(writer, message(), value, depth);
    writer.join();
  };

const each =
  (write: FieldWriter): FieldWriter =>
  (writer, member, value, depth) => {
    if (!Array.isArray(value)) throw mismatch(member, "array", value);
    for (const item of value) write(writer, member, item, depth);
  };

/** One level more than allowed is written, so that it is found to be too deep. */
const deeper =
  (write: FieldWriter): FieldWriter =>
  (writer, member, value, depth) => {
    if (depth <= maxDepth) write(writer, member, value, depth + 1);
  };

function writeMessage(
  writer: BinaryWriter,
  message: Message,
  value: Readonly<Record<string, unknown>>,
  depth: number,
): void {
  for (const [name, [field, write]] of Object.entries(message)) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    // In protobuf's JSON null means absent.
    if (given !== undefined && given !== null) write(writer, { name, field }, given, depth);
  }
}

const anyValue: Message = {
  stringValue: [1, text],
  boolValue: [2, bool],
  intValue: [3, int64],
  doubleValue: [4, double],
  arrayValue: [5, nested(() => listValue)],
  kvlistValue: [6, nested(() => membersValue)],
  bytesValue: [7, base64],
};
const keyValue: Message = { key: [1, text], value: [2, nested(() => anyValue)] };
const listValue: Message = { values: [1, each(deeper(nested(() => anyValue)))] };
const membersValue: Message = { values: [1, each(deeper(nested(() => keyValue)))] };
const attributes = each(nested(() => keyValue));

const status: Message = { message: [2, text], code: [3, uint32] };
const event: Message = {
  timeUnixNano: [1, fixed64],
  name: [2, text],
  attributes: [3, attributes],
  droppedAttributesCount: [4, uint32],
};
const link: Message = {
  traceId: [1, hex],
  spanId: [2, hex],
  traceState: [3, text],
  attributes: [4, attributes],
  droppedAttributesCount: [5, uint32],
};
const span: Message = {
  traceId: [1, hex],
  spanId: [2, hex],
  traceState: [3, text],
  parentSpanId: [4, hex],
  name: [5, text],
  kind: [6, uint32],
  startTimeUnixNano: [7, fixed64],
  endTimeUnixNano: [8, fixed64],
  attributes: [9, attributes],
  droppedAttributesCount: [10, uint32],
  events: [11, each(nested(() => event))],
  droppedEventsCount: [12, uint32],
  links: [13, each(nested(() => link))],
  droppedLinksCount: [14, uint32],
  status: [15, nested(() => status)],
};
const scope: Message = { name: [1, text], version: [2, text], attributes: [3, attributes] };
const scopeSpans: Message = {
  scope: [1, nested(() => scope)],
  spans: [2, each(nested(() => span))],
  schemaUrl: [3, text],
};
const resource: Message = { attributes: [1, attributes], droppedAttributesCount: [2, uint32] };
const resourceSpans: Message = {
  resource: [1, nested(() => resource)],
  scopeSpans: [2, each(nested(() => scopeSpans))],
  schemaUrl: [3, text],
};
const request: Message = { resourceSpans: [1, each(nested(() => resourceSpans))] };

/** Converts a request from JSON to protobuf. @throws MalformedTraces. */
export function protobufOfJson(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new MalformedTraces("it is not JSON");
  }
  if (!isRecord(value)) throw new MalformedTraces("expected an object of JSON");
  const writer = new BinaryWriter();
  writeMessage(writer, request, value, 0);
  return new Uint8Array(writer.finish());
}
