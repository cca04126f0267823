/** A value of a field as it is in the journal. */
export interface FieldValue {
  readonly name: string;
  readonly bytes: Buffer;
  /** Whether it is text that systemd takes for printable: UTF-8 without control characters but tabs and line feeds. */
  readonly isPrintable: boolean;
}

/** Control characters but tab and line feed, and code points that are no characters. */
const unprintable = /(?![\t\n])\p{Cc}|[\ufdd0-\ufdef]/u;
const isNoCharacter = (code: number): boolean => (code & 0xfffe) === 0xfffe;

function isPrintableText(text: string): boolean {
  if (unprintable.test(text)) return false;
  // U+FFFE, U+FFFF and the same of the other planes.
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0xd800) continue;
    if (isNoCharacter(text.codePointAt(at) ?? 0)) return false;
  }
  return true;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decoded(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

const [firstPrintable, lastPrintable] = [0x20, 0x7e];

/** Whether all are printable characters of ASCII, tabs and line feeds, as most values are: nothing needs to be decoded then. */
function isPlain(bytes: Buffer): boolean {
  for (const byte of bytes) {
    const isCharacter = byte >= firstPrintable && byte <= lastPrintable;
    if (!isCharacter && byte !== tab && byte !== lineFeed) return false;
  }
  return true;
}

/** @param known what the bytes are as text, where that is known. */
export function fieldValue(name: string, bytes: Buffer, known?: string): FieldValue {
  if (isPlain(bytes)) return { name, bytes, isPrintable: true };
  const text = known ?? decoded(bytes);
  return { name, bytes, isPrintable: text !== undefined && isPrintableText(text) };
}

const [tab, lineFeed, carriageReturn, escapeByte, bell] = [0x09, 0x0a, 0x0d, 0x1b, 0x07];
const [bracket, closing, letterM, semicolon] = [0x5b, 0x5d, 0x6d, 0x3b];
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

/** The end of a colour, or of a title or link that a bell ends; undefined where the sequence is another one. */
function endOfSequence(bytes: Buffer, start: number): number | undefined {
  const kind = bytes[start + 1];
  for (let at = start + 2; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (kind === bracket) {
      if (byte === letterM) return at + 1;
      if (!isDigit(byte) && byte !== semicolon) return undefined;
    } else if (kind === closing) {
      if (byte === bell) return at + 1;
      if (byte < 0x20 || byte > 0x7e) return undefined;
    } else return undefined;
  }
  return undefined;
}

/** Whether line ends, or the end of all, follow a carriage return. */
function endsLine(bytes: Buffer, start: number): boolean {
  let at = start;
  while (bytes[at] === carriageReturn) at += 1;
  return at === bytes.length || bytes[at] === lineFeed;
}

const eightSpaces = Buffer.from("        ");

/** A message without colours and carriage returns at the ends of lines, and with spaces for tabs, as journalctl shows it. */
export function withoutStyles(bytes: Buffer): Buffer {
  if (![tab, escapeByte, carriageReturn].some((each) => bytes.includes(each))) return bytes;
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at];
    const end =
      byte === escapeByte
        ? endOfSequence(bytes, at)
        : byte === tab || (byte === carriageReturn && endsLine(bytes, at))
          ? at + 1
          : undefined;
    if (end !== undefined) {
      parts.push(bytes.subarray(from, at));
      if (byte === tab) parts.push(eightSpaces);
      from = end;
    }
    const isOther = byte === escapeByte && bytes[at + 1] !== bracket && bytes[at + 1] !== closing;
    // What follows an escape is taken for a part of it, whatever it is.
    at = end ?? at + (isOther ? 2 : 1);
  }
  parts.push(bytes.subarray(from));
  return Buffer.concat(parts);
}

const units = ["K", "M", "G", "T", "P", "E"];

/** A size as systemd writes it: `17B`, `1.1M`. */
export function sizeText(bytes: number): string {
  let scale = 1;
  let unit = "B";
  for (const next of units) {
    if (bytes < scale * 1024) break;
    scale *= 1024;
    unit = next;
  }
  if (unit === "B") return `${bytes}B`;
  return `${Math.floor(bytes / scale)}.${Math.floor(((bytes / (scale / 1024)) * 10) / 1024) % 10}${unit}`;
}

const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (value: number): string => String(value).padStart(2, "0");

const timeOf = (date: Date): string => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
const dayOf = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

/** `Jan 31 14:00:00`, local time. */
export const shortTime = (date: Date): string => `${months[date.getMonth()]} ${two(date.getDate())} ${timeOf(date)}`;

/** `2026-01-31T14:00:00+0100`, local time. */
export function isoTime(date: Date): string {
  const offset = -date.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`;
  return `${dayOf(date)}T${timeOf(date)}${zone}`;
}

/** `CET`, or `GMT+5` where the zone has no name in English. */
const zoneOf = (date: Date): string =>
  new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" })
    .formatToParts(date)
    .find(({ type }) => type === "timeZoneName")?.value ?? "";

/** `Sat 2026-01-31 14:00:00 CET`, local time. */
export const longTime = (date: Date): string => `${days[date.getDay()]} ${dayOf(date)} ${timeOf(date)} ${zoneOf(date)}`;
