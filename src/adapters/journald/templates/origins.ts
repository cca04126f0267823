import { identifierPattern, unitPattern } from "#domain/logs/templates/names.ts";
import { countShared } from "../alike.ts";
import { createCollector, statedPriority, unitOf } from "../collect.ts";
import { field } from "../fields.ts";
import type { Source } from "../source.ts";

/** What entries of one kind have in common beside their messages. */
export interface Origin {
  /** The unit and the identifier, `*` for what differs from start to start. */
  readonly unit: string;
  readonly identifier: string;
  /** MESSAGE_ID, else CODE_FILE:CODE_LINE, else empty. */
  readonly origin: string;
  readonly priority: number | null;
}

/** Where the message of an entry is, and of what kind the entry is. */
export interface Placed {
  /** Number of the origin. */
  origin: number;
  /** Offset of the data object with the message; 0 where it has no message. */
  message: number;
}

/** Of a file so many kinds of origins are distinguished. */
const maxOrigins = 4096;
const maxPlaceLength = 255;

/** The first bytes of fields that say of what kind an entry is, as a number. */
const startOf = (name: string): number => Buffer.from(name, "latin1").readUInt32LE(0);
const reporter = [
  "MESSAGE_ID=",
  "PRIORITY=",
  "_SYSTEMD_UNIT=",
  "UNIT=",
  "COREDUMP_UNIT=",
  "OBJECT_SYSTEMD_UNIT=",
  "SYSLOG_IDENTIFIER=",
  "_TRANSPORT=",
  "CODE_FILE=",
  "CODE_LINE=",
  "_PID=1",
  "_UID=0",
].map((text) => Buffer.from(text, "latin1"));
const starts = new Set(reporter.map((text) => startOf(text.toString("latin1"))));
const [messageField, codeFile, codeLine] = ["MESSAGE=", "CODE_FILE=", "CODE_LINE="].map((text) =>
  Buffer.from(text, "latin1"),
) as [Buffer, Buffer, Buffer];

/** The end of a text, which has as many characters as a place may have. */
const endOf = (bytes: Buffer, start: number, end: number): string =>
  bytes.toString("utf8", Math.max(start, end - 4 * maxPlaceLength), end);

/** The start of a text, not as a part of it. */
const startOfText = (text: string): string =>
  text.length > maxPlaceLength ? Buffer.from(text.slice(0, maxPlaceLength)).toString("utf8") : text;

function begins(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  if (end - start < name.length) return false;
  for (let at = 0; at < name.length; at += 1) if (bytes[start + at] !== name[at]) return false;
  return true;
}

const tableBits = 10;

interface Known {
  readonly items: readonly number[];
  readonly origin: number;
  readonly message: number;
}

/**
 * Says of what kind the entries of a file are. What entries have in common is inspected once.
 * @param origins those that are known, to which it adds; entries of more have the number -1.
 */
export function createOrigins(source: Source, origins: Origin[]) {
  const items: number[] = [];
  const byKey = new Map(origins.map((each, number) => [JSON.stringify(each), number]));
  const table: (Known | undefined)[] = Array.from({ length: 2 ** tableBits });
  const collector = createCollector();

  const codePlace = (count: number): string => {
    let [file, line] = ["", ""];
    for (let index = 0; index < count; index += 1) {
      const payload = source.payloadOf(items[index] ?? 0);
      if (payload === undefined) continue;
      const { bytes, start, end } = payload;
      // Of a name as long as an entry may be nothing but its end is read, since a part of a text keeps all of it in memory.
      if (begins(bytes, start, end, codeFile)) file ||= endOf(bytes, start + codeFile.length, end);
      else if (begins(bytes, start, end, codeLine)) line ||= endOf(bytes, start + codeLine.length, end);
    }
    return file === "" || line === "" ? "" : `${file}:${line}`.slice(-maxPlaceLength);
  };

  const numberOf = (count: number): number => {
    const collected = collector.ofItems(source, items, count, { offset: undefined });
    const messageId = collected.first[field.MESSAGE_ID]?.text.toLowerCase() ?? "";
    const made: Origin = {
      unit: unitPattern(startOfText(unitOf(collected))),
      identifier: identifierPattern(startOfText(collected.first[field.SYSLOG_IDENTIFIER]?.text ?? "")),
      origin: /^[0-9a-f]{32}$/.test(messageId) ? messageId : codePlace(count),
      priority: statedPriority(collected),
    };
    const key = JSON.stringify(made);
    const known = byKey.get(key);
    if (known !== undefined) return known;
    if (origins.length >= maxOrigins) return -1;
    origins.push(made);
    byKey.set(key, origins.length - 1);
    return origins.length - 1;
  };

  const messageAmong = (from: number, to: number): number => {
    for (let index = from; index < to; index += 1) {
      const payload = source.payloadOf(items[index] ?? 0);
      if (payload !== undefined && begins(payload.bytes, payload.start, payload.end, messageField))
        return items[index] ?? 0;
    }
    return 0;
  };

  /** Whether a field that no other entry has so far says of what kind it is, and where the message is among these. */
  const lookAtOwn = (from: number, to: number): { readonly isDecisive: boolean; readonly message: number } => {
    let message = 0;
    for (let index = from; index < to; index += 1) {
      const payload = source.payloadOf(items[index] ?? 0);
      if (payload === undefined) continue;
      const { bytes, start, end } = payload;
      if (end - start < 5) continue;
      if (begins(bytes, start, end, messageField)) {
        if (message === 0) message = items[index] ?? 0;
      } else if (starts.has(bytes.readUInt32LE(start)) && reporter.some((name) => begins(bytes, start, end, name)))
        return { isDecisive: true, message };
    }
    return { isDecisive: false, message };
  };

  return {
    /** @returns false where the entry cannot be read. */
    read(offset: number, into: Placed): boolean {
      const count = source.readItems(offset, items);
      if (count === 0) return false;
      const shared = countShared(items, count, offset);
      const { isDecisive, message } = lookAtOwn(shared, count);
      if (isDecisive) {
        into.origin = numberOf(count);
        into.message = messageAmong(0, count);
        return true;
      }
      let hash = shared;
      for (let index = 0; index < shared; index += 1) hash = Math.imul(hash ^ (items[index] ?? 0), 0x9e37_79b1);
      const place = hash >>> (32 - tableBits);
      let known = table[place];
      if (known?.items.length !== shared || known.items.some((item, index) => item !== items[index])) {
        known = { items: items.slice(0, shared), origin: numberOf(count), message: messageAmong(0, shared) };
        table[place] = known;
      }
      into.origin = known.origin;
      into.message = known.message === 0 ? message : known.message;
      return true;
    },
  };
}
