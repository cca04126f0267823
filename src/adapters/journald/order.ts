import { type EntryHead, type Refilled, splitTime } from "./journal-file/entry.ts";

export interface Location extends EntryHead {
  readonly seqnumId: string;
}

export interface Place extends Location {
  /** The time by which it is ordered, in microseconds: when it was written, or a little after that to which the clock was set back. */
  readonly timestamp: number;
}

/** A place that is not known yet. */
export const unknownPlace = (): Refilled<Place> => ({
  seqnumId: "",
  seqnum: 0,
  bootId: "",
  monotonic: 0,
  realtime: 0,
  realtimeRest: 0,
  xorHigh: 0,
  xorLow: 0,
  timestamp: 0,
});

export function copyPlace(from: Place, into: Refilled<Place>): void {
  into.seqnumId = from.seqnumId;
  into.seqnum = from.seqnum;
  into.bootId = from.bootId;
  into.monotonic = from.monotonic;
  into.realtime = from.realtime;
  into.realtimeRest = from.realtimeRest;
  into.xorHigh = from.xorHigh;
  into.xorLow = from.xorLow;
  into.timestamp = from.timestamp;
}

export const compare = <T extends number | string>(left: T, right: T): number =>
  left < right ? -1 : left > right ? 1 : 0;

/**
 * The order of the journal: by time, then as the sequence numbers say. It is total, so that a list can be cut anywhere and
 * continued, unlike that of sd-journal, which compares in another way inside of a file than across files.
 */
export const comparePlaces = (left: Place, right: Place): number =>
  compare(left.timestamp, right.timestamp) ||
  compare(left.seqnumId, right.seqnumId) ||
  compare(left.seqnum, right.seqnum) ||
  compare(left.xorHigh, right.xorHigh) ||
  compare(left.xorLow, right.xorLow);

export const isSameEntry = (left: EntryHead, right: EntryHead): boolean =>
  left.monotonic === right.monotonic &&
  left.realtime === right.realtime &&
  left.realtimeRest === right.realtimeRest &&
  left.xorLow === right.xorLow &&
  left.xorHigh === right.xorHigh &&
  left.bootId === right.bootId;

const wordRange = 2 ** 32;
const quarterRange = 2 ** 16;

/** Four hex digits of every 16-bit number that came up: numbers to text is what cursors cost. */
const digits: (string | undefined)[] = Array.from({ length: quarterRange });

function fourDigits(value: number): string {
  const known = digits[value];
  if (known !== undefined) return known;
  const text = value.toString(16).padStart(4, "0");
  digits[value] = text;
  return text;
}

function createHex(): (value: number) => string {
  let lastHigh = 0;
  let prefix = "";
  return (value) => {
    const high = Math.floor(value / quarterRange);
    if (high === 0) return value.toString(16);
    if (high !== lastHigh) {
      lastHigh = high;
      prefix = high.toString(16);
    }
    return prefix + fourDigits(value - high * quarterRange);
  };
}

const hex64 = (high: number, low: number): string =>
  high < 2 ** 28
    ? ((BigInt(high) << 32n) | BigInt(low)).toString(16)
    : fourDigits(high >>> 16) + fourDigits(high & 0xffff) + fourDigits(low >>> 16) + fourDigits(low & 0xffff);

const [seqnumHex, monotonicHex, realtimeHex] = [createHex(), createHex(), createHex()];

/** The name of an entry, in the form of sd_journal_get_cursor(3). */
export const formatCursor = ({
  seqnumId,
  seqnum,
  bootId,
  monotonic,
  realtime,
  realtimeRest,
  xorHigh,
  xorLow,
}: Location): string =>
  `s=${seqnumId};i=${seqnumHex(seqnum)};b=${bootId};m=${monotonicHex(monotonic)};t=${realtimeRest === 0 ? realtimeHex(realtime) : (BigInt(realtime) + BigInt(realtimeRest)).toString(16)};x=${hex64(xorHigh, xorLow)}`;

const hexNumber = /^[0-9a-f]{1,16}$/i;
const id = /^[0-9a-f]{32}$/i;

/**
 * Reads a cursor. Members may come in any order.
 * @returns undefined when it is malformed or incomplete.
 */
export function parseCursor(text: string): Location | undefined {
  const members = new Map(text.split(";").map((part) => [part.slice(0, 2), part.slice(2)]));
  const take = (name: string, form: RegExp): string => {
    const value = members.get(name) ?? "";
    return form.test(value) ? value.toLowerCase() : "";
  };
  const [seqnumId, bootId] = [take("s=", id), take("b=", id)];
  const [seqnum, monotonic, realtime, xor] = ["i=", "m=", "t=", "x="].map((name) => take(name, hexNumber));
  if (!(seqnumId && bootId && seqnum && monotonic && realtime && xor)) return undefined;
  const [time, padded] = [realtime, xor].map((text) => text.padStart(16, "0")) as [string, string];
  return {
    seqnumId,
    bootId,
    seqnum: Number.parseInt(seqnum, 16),
    monotonic: Number.parseInt(monotonic, 16),
    ...splitTime(Number.parseInt(time.slice(0, 8), 16), Number.parseInt(time.slice(8), 16)),
    xorHigh: Number.parseInt(padded.slice(0, 8), 16) % wordRange,
    xorLow: Number.parseInt(padded.slice(8), 16),
  };
}
