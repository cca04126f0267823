import type { BinaryReader } from "@bufbuild/protobuf/wire";
import { maxAttributes, maxDepth, maxTextBytes } from "./receiver.ts";
import { bytesAt, delimitedEnd, doubleAt, int64At, readMessage, skipTo, textOf, uint32At } from "./wire.ts";

export interface Budget {
  left: number;
}

const valueCost = 8;

/** A value that is not kept: too deep or too big. */
const tooMuch = Symbol("too much");

const jsonNumber = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

/** An integer; as text where a number cannot hold it exactly. */
function integerOf(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

function textAt(reader: BinaryReader, type: number, budget: Budget): string | typeof tooMuch {
  const bytes = bytesAt(reader, type);
  budget.left -= Math.min(bytes.length, maxTextBytes);
  return budget.left < 0 ? tooMuch : textOf(bytes, maxTextBytes);
}

/** The repeated field 1 of ArrayValue or KeyValueList; once an item is too much, the rest is skipped. */
function readItems<T>(
  reader: BinaryReader,
  end: number,
  read: (itemEnd: number) => T | typeof tooMuch,
): T[] | typeof tooMuch {
  let items: T[] | typeof tooMuch = [];
  readMessage(reader, end, (field, type) => {
    if (field !== 1) return false;
    const itemEnd = delimitedEnd(reader, type);
    const item = items === tooMuch ? skipTo(reader, itemEnd) : read(itemEnd);
    if (items === tooMuch || item === tooMuch) items = tooMuch;
    else items.push(item as T);
    return true;
  });
  return items;
}

/** AnyValue; null where it is empty. */
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
        value = jsonNumber(doubleAt(reader, type));
        return true;
      case 5:
        value = readItems(reader, delimitedEnd(reader, type), (at) => readAny(reader, at, depth + 1, budget));
        return true;
      case 6: {
        const members = readItems(reader, delimitedEnd(reader, type), (at) =>
          readKeyValue(reader, at, depth + 1, budget),
        );
        value = members === tooMuch ? tooMuch : Object.fromEntries(members);
        return true;
      }
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

/** KeyValue. */
function readKeyValue(
  reader: BinaryReader,
  end: number,
  depth: number,
  budget: Budget,
): [string, unknown] | typeof tooMuch {
  const member: { key: string | typeof tooMuch; value: unknown } = { key: "", value: null };
  readMessage(reader, end, (field, type) => {
    if (field === 1) member.key = textAt(reader, type, budget);
    else if (field === 2) member.value = readAny(reader, delimitedEnd(reader, type), depth, budget);
    else return false;
    return true;
  });
  return member.key === tooMuch || member.value === tooMuch ? tooMuch : [member.key, member.value];
}

export function collectAttributes(budget: Budget) {
  const members: [string, unknown][] = [];
  let dropped = 0;
  return {
    read(reader: BinaryReader, end: number): void {
      if (members.length >= maxAttributes || budget.left <= 0) {
        dropped += 1;
        skipTo(reader, end);
        return;
      }
      const member = readKeyValue(reader, end, 0, budget);
      if (member === tooMuch) dropped += 1;
      else members.push(member);
    },
    // Defines members such as __proto__ as own.
    attributes: (): Readonly<Record<string, unknown>> => Object.fromEntries(members),
    dropped: () => dropped,
  };
}
