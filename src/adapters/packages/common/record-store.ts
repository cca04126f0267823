/** What is remembered of all packages at most: Debian's and Ubuntu's lists together need about half. */
const maxBytes = 192 * 1024 * 1024;
const firstBytes = 1024 * 1024;
const separator = 0;

/** A part of a text keeps all of it in memory; a copy does not. */
export const copyOf = (text: string): string => Buffer.from(text).toString();

/** Bytes at one place, for texts that are appended. */
function createTexts() {
  let bytes = Buffer.allocUnsafe(firstBytes);
  let length = 0;
  const ends: number[] = [];
  return {
    /** @throws RangeError where there is no space. */
    add(text: string): void {
      const size = Buffer.byteLength(text) + 1;
      if (length + size > maxBytes / 2) throw new RangeError("the lists of packages are too long to be searched");
      if (length + size > bytes.length) {
        const larger = Buffer.allocUnsafe(Math.max(bytes.length * 2, length + size));
        bytes.copy(larger, 0, 0, length);
        bytes = larger;
      }
      bytes.write(text, length);
      bytes[length + size - 1] = separator;
      length += size;
      ends.push(length);
    },
    count: () => ends.length,
    at: (index: number): string => bytes.toString("utf8", ends[index - 1] ?? 0, (ends[index] ?? 1) - 1),
    indexOf: (wanted: Buffer, from: number): number => bytes.subarray(0, length).indexOf(wanted, from),
    endOf: (index: number): number => ends[index] ?? length,
    part: (index: number): Buffer => bytes.subarray(ends[index - 1] ?? 0, ends[index] ?? length),
    /** The text in which a byte is. @param from a text that is not behind it. */
    textWith(at: number, from: number): number {
      let [low, high] = [from, ends.length - 1];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((ends[middle] ?? 0) > at) high = middle;
        else low = middle + 1;
      }
      return low;
    },
    /** Gives back what was reserved and not needed. */
    trim(): void {
      bytes = Buffer.from(bytes.subarray(0, length));
    },
  };
}

/** Records of all packages in two pieces of memory: what is shown of each, and what is searched, in lower case. */
export function createRecordStore() {
  const shown = createTexts();
  const sought = createTexts();
  const names: string[] = [];
  const dropped = new Set<number>();
  return {
    add(name: string, shownText: string, soughtText: string): void {
      names.push(copyOf(name));
      shown.add(shownText);
      // A text has no end but its own.
      sought.add(soughtText.toLowerCase().replaceAll("\0", " "));
    },
    trim(): void {
      shown.trim();
      sought.trim();
    },
    /** Leaves a record out of what is found from now on. */
    drop: (index: number): void => void dropped.add(index),
    count: () => names.length,
    nameOf: (index: number): string => names[index] ?? "",
    at: shown.at,
    /** The records that have all words, in their order. */
    search(words: readonly string[]): readonly number[] {
      // The longest is mostly the rarest.
      const [first, ...others] = words.toSorted((a, b) => b.length - a.length).map((word) => word.toLowerCase());
      if (first === undefined)
        return Array.from({ length: names.length }, (_, index) => index).filter((index) => !dropped.has(index));
      const [wanted, rest] = [Buffer.from(first), others.map((word) => Buffer.from(word))];
      const found: number[] = [];
      let record = 0;
      let at = sought.indexOf(wanted, 0);
      while (at >= 0) {
        record = sought.textWith(at, record);
        const part = sought.part(record);
        if (!dropped.has(record) && rest.every((word) => part.includes(word))) found.push(record);
        at = sought.indexOf(wanted, sought.endOf(record));
      }
      return found;
    },
  };
}

export type RecordStore = ReturnType<typeof createRecordStore>;
