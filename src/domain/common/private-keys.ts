const keyBegin = /-{4,5} ?BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}/g;
const keyEnd = /-{4,5} ?END [A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1) ?-{4,5}/g;
const longestKey = 200;
/** A line of a key without an end: base64, possibly after a prefix; a header (RFC 1421); empty. */
const keyLine =
  /(?:^|\s)[A-Za-z0-9+/]{16,}={0,2}\s{0,4}$|^\s{0,16}(?:[A-Za-z0-9+/]{1,76}={0,2}|[A-Za-z-]{1,32}: .{0,200})?\s{0,4}$/;
const keyOnlyLine = /^\s{0,16}[A-Za-z0-9+/]{16,76}={0,2}\s{0,4}$/;
/** The last line may be short. */
const lastKeyLine = /^\s{0,16}[A-Za-z0-9+/]{1,76}={0,2}\s{0,4}$/;

function findFrom(pattern: RegExp, line: string, at: number): Span | undefined {
  pattern.lastIndex = at;
  const match = pattern.exec(line);
  return match === null ? undefined : spanOf(match);
}

function keysWithin(line: string): { readonly line: string; readonly count: number; readonly isOpen: boolean } {
  let kept = "";
  let at = 0;
  for (let count = 0; ; count += 1) {
    const begins = findFrom(keyBegin, line, at);
    if (begins === undefined) return { line: kept + line.slice(at), count, isOpen: false };
    kept += line.slice(at, begins.start) + mark;
    const ends = findFrom(keyEnd, line, begins.end);
    if (ends === undefined) return { line: kept, count: count + 1, isOpen: true };
    at = ends.end;
  }
}

/** A whole line of base64 as in keys: part of one that begins elsewhere. */
function isKeyMaterial(line: string): boolean {
  const text = line.length > 100 ? "" : line.trim();
  return (
    text.length >= 60 &&
    text.length <= 80 &&
    /^[A-Za-z0-9+/]+={0,2}$/.test(text) &&
    /[0-9]/.test(text) &&
    text.replaceAll(/[^A-Z]/g, "").length >= 8 &&
    text.replaceAll(/[^a-z]/g, "").length >= 8
  );
}

function endsAhead(lines: readonly string[]): readonly number[] {
  const ends: number[] = [];
  let next = Number.POSITIVE_INFINITY;
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    if (findFrom(keyEnd, lines[at] ?? "", 0) !== undefined) next = at;
    ends[at] = next;
  }
  return ends;
}

function endOfKey(lines: readonly string[], started: number, end: number): number {
  if (end - started <= longestKey) return end;
  let at = started;
  while (at + 1 < lines.length && at - started < longestKey && keyLine.test(lines[at + 1] ?? "")) at += 1;
  return at;
}

/** The start of the base64 that a text ends with, spaces and escaped line breaks included; its length without any. */
function tailOfKey(text: string): number {
  let start = text.length;
  while (start > 0 && /[A-Za-z0-9+/=\\\s]/.test(text.charAt(start - 1))) start -= 1;
  const first = text.slice(start).search(/\S{16}/);
  return first < 0 ? text.length : start + first;
}

/** Removes the end of a key without a start, and the lines of the key before it. */
function redactTail(lines: string[], at: number, end: Span): void {
  const line = lines[at] ?? "";
  const head = line.slice(0, end.start);
  lines[at] = head.slice(0, tailOfKey(head)) + mark + line.slice(end.end);
  const [before = "", last = ""] = [lines[at - 2], lines[at - 1]];
  let back = at - 1;
  // A single word on its line looks the same.
  if (lastKeyLine.test(last) && (/=\s*$/.test(last) || keyOnlyLine.test(before))) lines[back--] = mark;
  for (; back >= 0 && keyOnlyLine.test(lines[back] ?? ""); back -= 1) lines[back] = mark;
}

/** Replaces each line of a private key by the mark. */
export function withoutKeys(given: readonly string[]): { readonly lines: readonly string[]; readonly count: number } {
  const lines = [...given];
  const ends = endsAhead(given);
  let count = 0;
  for (let at = 0; at < lines.length; at += 1) {
    const end = findFrom(keyEnd, lines[at] ?? "", 0);
    const found = keysWithin(lines[at] ?? "");
    count += found.count;
    if (found.count > 0) lines[at] = found.line;
    else if (end !== undefined) {
      redactTail(lines, at, end);
      count += 1;
    } else if (isKeyMaterial(lines[at] ?? "")) {
      if (lines[at - 1] !== mark) count += 1;
      lines[at] = mark;
    }
    if (!found.isOpen) continue;
    const ending = ends[at + 1] ?? Number.POSITIVE_INFINITY;
    const last = endOfKey(given, at, ending);
    if (last === at) continue;
    lines.fill(mark, at + 1, last);
    at = last - 1;
    // The text after a key on its last line is checked like any other.
    const tail = last === ending ? findFrom(keyEnd, lines[last] ?? "", 0) : undefined;
    lines[last] = tail === undefined ? mark : mark + (lines[last] ?? "").slice(tail.end);
  }
  return { lines, count };
}

export const mark = "[redacted]";

/** A part of a line; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export const spanOf = ({ index, 0: text }: RegExpMatchArray): Span => ({
  start: index ?? 0,
  end: (index ?? 0) + text.length,
});
