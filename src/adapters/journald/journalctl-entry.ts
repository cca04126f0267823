import type { JournalField } from "#contract/log-entry.ts";
import type { LiveEntry } from "#domain/ports/journal.ts";
import { isNumber, parseJsonObject } from "#kernel/values.ts";
import { namedUnits, shownUnit, unitsOfEntry } from "./collect.ts";
import { endOfPart } from "./fields.ts";
import { splitTime } from "./journal-file/entry.ts";
import * as layout from "./journal-file/layout.ts";
import { formatCursor, type Location, parseCursor } from "./order.ts";
import { asValue, isFieldName } from "./raw-fields.ts";
import { createTimestampFormat } from "./render.ts";

export interface JournalRecord {
  readonly live: LiveEntry;
  readonly location: Location;
  /** The whole MESSAGE; undefined when the entry has no such field. `journalctl -g` never finds such an entry. */
  readonly message: string | undefined;
  readonly identifiers: readonly string[];
  /** The units that wrote it, or that it is about; not its slice. */
  readonly namedUnits: readonly string[];
  /** All fields as they are, but what the cursor says; made when they are asked for. */
  readonly raw: () => readonly JournalField[];
}

/** Fields that a record is made of, as `--output-fields` takes them; what begins with two underscores always comes. */
export const recordFields = [
  "MESSAGE",
  "MESSAGE_ID",
  "PRIORITY",
  "SYSLOG_IDENTIFIER",
  "SYSLOG_PID",
  "_HOSTNAME",
  "_NAMESPACE",
  "_PID",
  "_SYSTEMD_SLICE",
  "_SYSTEMD_UNIT",
  "_TRANSPORT",
  "_UID",
  "UNIT",
  "COREDUMP_UNIT",
  "OBJECT_SYSTEMD_UNIT",
] as const;

const defaultPriority = 6;
const priorityText = /^[0-7]$/;
const microsText = /^\d{1,17}$/;
const latestRealtime = BigInt(layout.latestRealtime);
const pidText = /^[1-9]\d{0,14}$/;

/** One value: text, or the bytes of what is not printable text. */
function decodeValue(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return Array.isArray(value) && value.every(isNumber) ? Buffer.from(value).toString("utf8") : undefined;
}

/**
 * The values of a field, as systemd's "Journal JSON Format" has them: a list of numbers is the bytes of one value, any other
 * list is the values of a field that is there more than once. Null stands for a value that was too long, and counts as no value.
 */
function decodeValues(value: unknown): readonly string[] {
  const single = decodeValue(value);
  if (single !== undefined) return [single];
  return Array.isArray(value) ? value.flatMap((each: unknown) => decodeValue(each) ?? []) : [];
}

function parseFields(line: Buffer): ReadonlyMap<string, unknown> | undefined {
  const parsed = parseJsonObject(line.toString("utf8"));
  return parsed && new Map(Object.entries(parsed));
}

const bytesOf = (value: unknown): Buffer | undefined =>
  typeof value === "string"
    ? Buffer.from(value)
    : Array.isArray(value) && value.every(isNumber)
      ? Buffer.from(value)
      : undefined;

/** The values as bytes. journalctl gives them in no fixed order. */
function rawFields(fields: ReadonlyMap<string, unknown>): readonly JournalField[] {
  return [...fields].flatMap(([name, value]) => {
    if (name.startsWith("__") || !isFieldName(name)) return [];
    const single = bytesOf(value);
    const all = single === undefined ? (Array.isArray(value) ? value.map(bytesOf) : []) : [single];
    return all.flatMap((bytes) => (bytes === undefined ? [] : { name, ...asValue(bytes) }));
  });
}

const formatTimestamp = createTimestampFormat();

type Values = (name: (typeof recordFields)[number]) => readonly string[];

/** The part of a message that is shown, from a byte on. */
function partOf(message: string, from: number) {
  const bytes = Buffer.from(message);
  const end = endOfPart(bytes, from, bytes.length);
  const cut = end < bytes.length ? { truncated: true, next_offset: end } : {};
  return { message: bytes.toString("utf8", from, end), ...cut };
}

/**
 * Reads a line of `journalctl --output=json --all`. Of a field that is there more than once the first value is shown, and
 * any of them counts.
 * @param from the byte of the message with which what is shown of it begins.
 * @returns undefined when the line is not an entry: no JSON object, or without a cursor or a moment.
 */
export function parseJournalctlLine(line: Buffer, from = 0): JournalRecord | undefined {
  const fields = parseFields(line);
  if (fields === undefined) return undefined;
  const values: Values = (name) => decodeValues(fields.get(name));
  const first = (name: Parameters<Values>[0]): string => values(name)[0] ?? "";

  const [cursor = ""] = decodeValues(fields.get("__CURSOR"));
  const [micros = ""] = decodeValues(fields.get("__REALTIME_TIMESTAMP"));
  const location = parseCursor(cursor);
  if (!microsText.test(micros) || location === undefined) return undefined;
  const time = BigInt(micros);
  if (time >= latestRealtime) return undefined;

  const messages = values("MESSAGE");
  const priority = first("PRIORITY");
  const written = priorityText.test(priority) ? Number(priority) : null;
  const pid = [first("_PID"), first("SYSLOG_PID")].find((text) => pidText.test(text));
  const identifiers = values("SYSLOG_IDENTIFIER");
  return {
    live: {
      entry: {
        timestamp: formatTimestamp(splitTime(Number(time >> 32n), Number(BigInt.asUintN(32, time)))),
        unit: shownUnit(values),
        priority: written ?? defaultPriority,
        cursor: formatCursor(location),
        identifier: identifiers[0] ?? "",
        pid: pid === undefined ? null : Number(pid),
        hostname: first("_HOSTNAME"),
        boot_id: location.bootId,
        ...partOf(messages[0] ?? "", from),
      },
      units: unitsOfEntry(values),
      namespace: first("_NAMESPACE"),
      priority: written,
    },
    location,
    message: messages[0],
    identifiers,
    namedUnits: namedUnits(values),
    raw: () => rawFields(fields),
  };
}
