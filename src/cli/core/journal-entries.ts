/** Takes whole entries off the start of what has arrived of an export. */
export type SplitEntries = (arrived: Buffer) => {
  /** Where the last whole entry ends. */
  readonly end: number;
  readonly count: number;
  /** The cursor of the last whole entry. */
  readonly cursor: string | undefined;
};

const lineFeed = 0x0a;
const equalsSign = 0x3d;
const sizeBytes = 8;

/** Of the Journal JSON Format: an entry on each line. */
const jsonEntries: SplitEntries = (arrived) => {
  const end = arrived.lastIndexOf(lineFeed) + 1;
  let count = 0;
  for (let at = arrived.indexOf(lineFeed); at >= 0; at = arrived.indexOf(lineFeed, at + 1)) count += 1;
  if (end === 0) return { end, count, cursor: undefined };
  const last = arrived.subarray(0, end - 1);
  const line = JSON.parse(last.toString("utf8", last.lastIndexOf(lineFeed) + 1)) as Readonly<Record<string, unknown>>;
  return { end, count, cursor: String(line["__CURSOR"]) };
};

/** The end of the field that begins here; undefined where it has not arrived. */
function endOfField(bytes: Buffer, start: number, lineEnd: number): number | undefined {
  const equals = bytes.indexOf(equalsSign, start);
  if (equals >= 0 && equals < lineEnd) return lineEnd + 1;
  const size = lineEnd + 1;
  if (bytes.length < size + sizeBytes) return undefined;
  return size + sizeBytes + Number(bytes.readBigUInt64LE(size)) + 1;
}

/** Of the Journal Export Format: fields on lines, or after their size, and an empty line after each entry. */
const exportedEntries: SplitEntries = (arrived) => {
  let [start, at, count, lastStart] = [0, 0, 0, -1];
  while (at < arrived.length) {
    const lineEnd = arrived.indexOf(lineFeed, at);
    if (lineEnd < 0) break;
    if (lineEnd === at) {
      lastStart = start;
      start = at + 1;
      at = start;
      count += 1;
      continue;
    }
    const end = endOfField(arrived, at, lineEnd);
    if (end === undefined) break;
    at = end;
  }
  if (lastStart < 0) return { end: 0, count, cursor: undefined };
  const head = arrived.toString("latin1", lastStart, arrived.indexOf(lineFeed, lastStart));
  return { end: start, count, cursor: head.replace(/^__CURSOR=/, "") };
};

export const entriesOf = { json: jsonEntries, journal: exportedEntries } as const;
