import type { BinaryReader } from "@bufbuild/protobuf/wire";
import { maxAttributes, maxDepth, maxTextBytes } from "./limits.ts";
import { bytesAt, delimitedEnd, doubleAt, int64At, readMessage, skipTo, textOf, uint32At } from "./wire.ts";

/** What may still be read of a span. */
export interface Budget {
  left: number;
}

/** What a value costs besides its text. */
const valueCost = 8;

/** A value that is not kept: it is too deep, or too much. */
const tooMuch = Symbol("too much");

const numberOf = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

/** Exact: an integer that a number cannot hold is text. */
function integerOf(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

function textAt(reader: BinaryReader, type: number, budget: Budget): string | typeof tooMuch {
  const bytes = bytesAt(reader, type);
  budget.left -= Math.min(bytes.length, maxTextBytes);
  return budget.left < 0 ? tooMuch : textOf(bytes, maxTextBytes);
}

/** ArrayValue. */
function readList(reader: BinaryReader, end: number, depth: number, budget: Budget): unknown {
  const values: unknown[] = [];
  let isWhole = true;
  readMessage(reader, end, (field, type) => {
    if (field !== 1) return false;
    const valueEnd = delimitedEnd(reader, type);
    if (!isWhole) {
      skipTo(reader, valueEnd);
      return true;
    }
    const value = readAny(reader, valueEnd, depth, budget);
    if (value === tooMuch) isWhole = false;
    else values.push(value);
    return true;
  });
  return isWhole ? values : tooMuch;
}

/** KeyValueList. */
function readMembers(reader: BinaryReader, end: number, depth: number, budget: Budget): unknown {
  const members: [string, unknown][] = [];
  let isWhole = true;
  readMessage(reader, end, (field, type) => {
    if (field !== 1) return false;
    const memberEnd = delimitedEnd(reader, type);
    if (!isWhole) {
      skipTo(reader, memberEnd);
      return true;
    }
    const member = readKeyValue(reader, memberEnd, depth, budget);
    if (member === undefined) isWhole = false;
    else members.push(member);
    return true;
  });
  return isWhole ? Object.fromEntries(members) : tooMuch;
}

/** AnyValue: null where it has none. */
function readAny(reader: BinaryReader, end: number, depth: number, budget: Budget): unknown {
  budget.left -= valueCost;
  if (depth > maxDepth || budget.left < 0) {
    skipTo(reader, end);
    return tooMuch;
  }
  let value: unknown = null;
  readMessage(reader, end, (field, type) => {
    switch (field) {
      case 1:
        value = textAt(reader, type, budget);
        return true;
      case 2:
        value = uint32At(reader, type) !== 0;
        return true;
      case 3:
        value = integerOf(int64At(reader, type));
        return true;
      case 4:
        value = numberOf(doubleAt(reader, type));
        return true;
      case 5:
        value = readList(reader, delimitedEnd(reader, type), depth + 1, budget);
        return true;
      case 6:
        value = readMembers(reader, delimitedEnd(reader, type), depth + 1, budget);
        return true;
      case 7: {
        const bytes = bytesAt(reader, type);
        budget.left -= bytes.length;
        value = budget.left < 0 || bytes.length > maxTextBytes ? tooMuch : Buffer.from(bytes).toString("base64");
        return true;
      }
      default:
        return false;
    }
  });
  return value;
}

/** KeyValue; undefined when it is not kept. */
function readKeyValue(reader: BinaryReader, end: number, depth: number, budget: Budget): [string, unknown] | undefined {
  const member: { key: string | typeof tooMuch; value: unknown } = { key: "", value: null };
  readMessage(reader, end, (field, type) => {
    if (field === 1) member.key = textAt(reader, type, budget);
    else if (field === 2) member.value = readAny(reader, delimitedEnd(reader, type), depth, budget);
    else return false;
    return true;
  });
  return member.key === tooMuch || member.value === tooMuch ? undefined : [member.key, member.value];
}

/** Attributes that are being read: those that there is room for, and how many there is none for. */
export interface AttributeCollector {
  readonly read: (reader: BinaryReader, end: number) => void;
  readonly attributes: () => Readonly<Record<string, unknown>>;
  readonly dropped: () => number;
}

export function collectAttributes(budget: Budget): AttributeCollector {
  const members: [string, unknown][] = [];
  let dropped = 0;
  return {
    read(reader, end) {
      if (members.length >= maxAttributes || budget.left <= 0) {
        dropped += 1;
        skipTo(reader, end);
        return;
      }
      const member = readKeyValue(reader, end, 0, budget);
      if (member === undefined) dropped += 1;
      else members.push(member);
    },
    // A name such as __proto__ is one like any other.
    attributes: () => Object.fromEntries(members),
    dropped: () => dropped,
  };
}
