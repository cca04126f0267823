import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { boots, start } from "./entries.ts";
import { encodeEntry, type Field } from "./export-format.ts";
import { headerFields } from "./file-header.ts";
import { anatomyOf } from "./mutations.ts";
import { appendToJournal } from "./programs.ts";

/** Unkeyed, so that a file stays whole when it gets another id. */
const kind = { compact: true, keyedHash: false, compress: false };
const entryType = 3;
const [fileIdAt, seqnumIdAt, realtimeAt] = [24, 72, 24];

/** How a program without rights fills the memory of who reads its entries. */
export interface ManyValues {
  readonly files: number;
  /** Identifiers in each file. */
  readonly identifiers: number;
  /** How many of them an entry has. */
  readonly inEntry: number;
  /** How many entries have an identifier. */
  readonly times: number;
  /** Entries of a file with none of them. */
  readonly others: number;
  /** Whether identifiers and messages are other words, not other numbers. */
  readonly areWords?: boolean;
}

const letters = (number: number): string =>
  number.toString(26).replaceAll(/\d/g, (digit) => "qrstuvwxyz"[Number(digit)] ?? "");

const entriesOf = ({
  identifiers,
  inEntry,
  times,
  others,
  areWords = false,
}: ManyValues): readonly (readonly Field[])[] => {
  const crowded = Array.from({ length: (identifiers / inEntry) * times }, (_, at): readonly Field[] => {
    const first = (at % (identifiers / inEntry)) * inEntry;
    const own = Array.from(
      { length: inEntry },
      (_, index): Field => ["SYSLOG_IDENTIFIER", `forged-${areWords ? letters(first + index) : first + index}`],
    );
    return [
      ["PRIORITY", "3"],
      ["_SYSTEMD_UNIT", "a.service"],
      ...own,
      ["MESSAGE", areWords ? `${letters(at)} said at last ${letters(7 * at)}` : `said at last ${at}`],
    ];
  });
  const quiet = Array.from({ length: others }, (_, at): readonly Field[] => [
    ["PRIORITY", "6"],
    ["MESSAGE", `said by others ${at}`],
  ]);
  return [...crowded, ...quiet];
};

/**
 * Writes journals of several users into a directory: the writer makes the first, and the others are the same at another time, since the
 * writer would take minutes.
 * @returns how many entries a file has.
 */
export function writeManyValues(directory: string, values: ManyValues): number {
  mkdirSync(directory, { recursive: true });
  const made = join(directory, "made.journal");
  const entries = entriesOf(values).map((fields, at) =>
    encodeEntry({ realtime: start + at, monotonic: at + 1, bootId: boots[0] ?? "", fields }),
  );
  appendToJournal(made, kind, entries);
  const { bytes, objects } = anatomyOf(readFileSync(made));
  const places = [
    ...objects.flatMap(({ type, offset }) => (type === entryType ? [offset + realtimeAt] : [])),
    headerFields.headRealtime[0],
    headerFields.tailRealtime[0],
  ];
  renameSync(made, join(directory, "user-1000.journal"));
  for (let file = 1; file < values.files; file += 1) {
    bytes.writeUInt32BE(file, fileIdAt);
    bytes.writeUInt32BE(file, seqnumIdAt);
    for (const at of places) bytes.writeBigUInt64LE(bytes.readBigUInt64LE(at) + 3_600_000_000n, at);
    writeFileSync(join(directory, `user-${1000 + file}.journal`), bytes);
  }
  return entries.length;
}
