import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom, type Random } from "../support/random.ts";
import { collidingEntries } from "./collisions.ts";
import { boots, everyday, machines, messageEntries, specialEntries, start, timed } from "./entries.ts";
import { encodeEntry, type Field, type NewEntry } from "./export-format.ts";
import { readHeaderField, stateOnline, writeHeaderField } from "./file-header.ts";
import { fixtures, hostFixtures, readFixture } from "./fixture-files.ts";
import { packedMessages } from "./packed-messages.ts";
import { appendToJournal, type FileKind, runJournalctl } from "./programs.ts";
import { type Packing, smallJournal } from "./small-journal.ts";

const [firstBoot = "", secondBoot = "", thirdBoot = "", fourthBoot = ""] = boots;
const [firstMachine = "", secondMachine = ""] = machines;
const hourMicros = 3_600_000_000;

/** Writes one directory of journals. */
export interface Writer {
  readonly random: Random;
  /** Appends to a file of the directory; a file of its own has a sequence number id of its own. */
  readonly append: (file: string, entries: readonly NewEntry[]) => void;
  /** Appends to a new file that follows on this one, as journald does when it rotates: same sequence number id, numbers continue. */
  readonly rotate: (file: string, entries: readonly NewEntry[]) => void;
  readonly directory: string;
}

export interface Corpus {
  readonly name: string;
  /** Whether journalctl's own `--since`, `--until` and `--cursor` can be believed. Where clocks jump they cannot: see README.md. */
  readonly soundClocks: boolean;
  /** Says something only of files without keyed hashes. */
  readonly isForUnkeyed?: true;
  readonly write: (writer: Writer) => void;
}

/** Every kind of entry there is, in two boots, with everyday entries between them. */
function everyKind(random: Random): readonly NewEntry[] {
  const odd = [...specialEntries, ...messageEntries];
  const clock = { bootId: firstBoot, realtime: start, monotonic: 5_000_000 };
  const first = [
    ...everyday(random, clock, 60),
    ...timed(random, { ...clock, realtime: start + hourMicros, monotonic: 5_000_000 + hourMicros }, odd),
  ];
  const later = { bootId: secondBoot, realtime: start + 3 * hourMicros, monotonic: 1_000_000 };
  return [
    ...first,
    ...timed(random, later, odd.slice(0, 40)),
    ...everyday(random, { ...later, realtime: later.realtime + hourMicros, monotonic: 1_000_000 + hourMicros }, 120),
  ];
}

/** Entries that have most fields in common, and some that differ from the others in one. */
const alikeEntries: readonly NewEntry[] = Array.from({ length: 300 }, (_, at) => {
  const said = `said ${at} `.padEnd(120, at % 5 === 0 ? '"' : "x");
  const isAbout = at % 13 === 0;
  const fields: readonly Field[] = [
    ["_SYSTEMD_UNIT", `a-${at % 3}.service`],
    ["PRIORITY", at % 2 === 0 ? "6" : "3"],
    ["_HOSTNAME", "here"],
    ["SYSLOG_IDENTIFIER", `a-${at % 3}`],
    ...(isAbout ? ([["_PID", "1"]] as const) : []),
    ...(at % 7 === 0 ? [] : ([["MESSAGE", said]] as const)),
    ...(at % 11 === 0 && at % 7 !== 0 ? ([["MESSAGE", `and ${said}`]] as const) : []),
    ["_SOURCE_REALTIME_TIMESTAMP", String(at)],
    ...(at % 10 === 0 && !isAbout ? ([["_PID", String(1_000 + at)]] as const) : []),
    ...(isAbout ? ([["UNIT", `about-${at}.service`]] as const) : []),
  ];
  return { bootId: firstBoot, realtime: start + at, monotonic: at + 1, fields };
});

/** Pieces of values that a terminal, a line or JSON takes for something else. */
const pieces = [
  ...["plain", "\t", "\n", "\r", "\r\n", "\0", "\u001b", "\u001b[", "\u001b[31m", "\u001b[1;2m", "\u001b[2J"],
  ...["\u001b]0;t", "\u0007", "\u001b\\", "\u007f", "\u0085", "\u2028", "\u202e", "\ufdd0", "\ufffe", "\u{1f600}"],
  ...["\u{10ffff}", '"\\', " ", "="],
];
const brokenUtf8 = [[0xff], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0xaf]].map((bytes) => Buffer.from(bytes));
/** Values about the lengths at which journalctl shows something else. */
const lengths = [299, 300, 301, 4087, 4088, 4089, 4096, 5000];

function hostileEntries(random: Random, count: number): readonly NewEntry[] {
  const value = (): string | Buffer => {
    if (random.chance(0.1)) return "x".repeat(random.pick(lengths));
    const parts = Array.from({ length: random.integer(6) }, () =>
      random.chance(0.1) ? random.pick(brokenUtf8) : Buffer.from(random.pick(pieces)),
    );
    return Buffer.concat(parts);
  };
  const names = ["_HOSTNAME", "SYSLOG_IDENTIFIER", "_COMM", "_PID", "SYSLOG_PID", "OTHER", "MESSAGE"];
  return Array.from({ length: count }, (_, at) => ({
    bootId: at < count / 2 ? firstBoot : secondBoot,
    realtime: start + at * 1_000_003,
    monotonic: 1_000 + at,
    fields: [
      ["POSITION", String(at)],
      ...(random.chance(0.9) ? [["MESSAGE", value()] as const] : []),
      ...names.flatMap((name): readonly Field[] => (random.chance(0.3) ? [[name, value()]] : [])),
      ...(random.chance(0.2)
        ? [["_SOURCE_REALTIME_TIMESTAMP", random.pick(["0", "x", "1600000000000000", "-1", ""])] as const]
        : []),
    ],
  }));
}

export const corpora: readonly Corpus[] = [
  {
    name: "every kind of entry in one file",
    soundClocks: true,
    write: ({ random, append }) => append("system.journal", everyKind(random)),
  },
  {
    name: "one boot in files that were rotated",
    soundClocks: true,
    write({ random, append, rotate }) {
      const entries = everyday(random, { bootId: firstBoot, realtime: start, monotonic: 1 }, 240);
      append("system.journal", entries.slice(0, 100));
      rotate("system.journal", entries.slice(100, 101));
      rotate("system.journal", entries.slice(101, 180));
      rotate("system.journal", entries.slice(180));
    },
  },
  {
    name: "system and user journals side by side over four boots",
    soundClocks: true,
    write({ random, append, rotate }) {
      for (const [position, bootId] of boots.entries()) {
        const clock = { bootId, realtime: start + position * hourMicros * 24, monotonic: 1_000 };
        const entries = everyday(random, clock, 80);
        const files = ["system.journal", "user-1000.journal", "user-1001.journal"];
        for (const file of files) {
          const own = entries.filter((_, at) => at % files.length === files.indexOf(file));
          if (position === 2) rotate(file, own);
          else append(file, own);
        }
      }
    },
  },
  {
    name: "two machines below one directory",
    soundClocks: true,
    write({ random, append, rotate }) {
      for (const [position, machine] of machines.entries()) {
        const clock = { bootId: boots[position] ?? "", realtime: start + position * 777, monotonic: 50 };
        const entries = everyday(random, clock, 90);
        append(`${machine}/system.journal`, entries.slice(0, 50));
        rotate(`${machine}/system.journal`, entries.slice(50));
      }
      append("loose.journal", everyday(random, { bootId: thirdBoot, realtime: start + 99, monotonic: 7 }, 30));
    },
  },
  {
    name: "directories of machines named in capitals and as UUID",
    soundClocks: true,
    write({ random, append }) {
      const names = [firstMachine.toUpperCase(), secondMachine.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")];
      for (const [position, name] of [...names, `${secondMachine}-`, "c".repeat(31)].entries()) {
        // One boot after the other: journalctl numbers no others.
        const clock = { bootId: boots[position] ?? "", realtime: start + position * 3_600_000_000, monotonic: 50 };
        append(`${name}/system.journal`, everyday(random, clock, 20));
      }
    },
  },
  {
    name: "the same entries in two files, one of them written further",
    soundClocks: true,
    write({ random, append, directory }) {
      const entries = everyday(random, { bootId: firstBoot, realtime: start, monotonic: 1 }, 120);
      append("system.journal", entries.slice(0, 80));
      mkdirSync(join(directory, firstMachine), { recursive: true });
      copyFileSync(join(directory, "system.journal"), join(directory, firstMachine, "system@copy.journal"));
      append("system.journal", entries.slice(80));
    },
  },
  {
    name: "many entries, so that arrays have many blocks",
    soundClocks: true,
    write({ random, append }) {
      const clock = { bootId: firstBoot, realtime: start, monotonic: 1 };
      append("system.journal", everyday(random, clock, 6_000));
    },
  },
  {
    name: "odd files among sound ones",
    soundClocks: true,
    write({ random, append, directory }) {
      append("system.journal", everyday(random, { bootId: firstBoot, realtime: start, monotonic: 1 }, 50));
      writeHeaderField(join(directory, "system.journal"), "state", BigInt(stateOnline));
      append(
        "system@unclean.journal~",
        everyday(random, { bootId: secondBoot, realtime: start + hourMicros, monotonic: 1 }, 30),
      );
      append("empty.journal", []);
      append("notes.txt", everyday(random, { bootId: thirdBoot, realtime: start, monotonic: 1 }, 5));
      append("not-a-machine/system.journal", everyday(random, { bootId: thirdBoot, realtime: start, monotonic: 1 }, 5));
      append(
        `${secondMachine}.space/system.journal`,
        everyday(random, { bootId: fourthBoot, realtime: start, monotonic: 9 }, 5),
      );
      append(
        `${secondMachine}/deeper/system.journal`,
        everyday(random, { bootId: fourthBoot, realtime: start, monotonic: 9 }, 5),
      );
      writeFileSync(join(directory, "short.journal"), "LPKSHHRH");
      writeFileSync(join(directory, "nothing.journal"), "");
      writeFileSync(join(directory, "text.journal"), "not a journal\n".repeat(1000));
      mkdirSync(join(directory, "directory.journal"));
    },
  },
  {
    name: "payloads packed with LZ4 and XZ, beside others",
    soundClocks: true,
    write({ random, append, directory }) {
      for (const name of fixtures) writeFileSync(join(directory, `system@${name}.journal`), readFixture(name));
      append(
        "system.journal",
        everyday(random, { bootId: secondBoot, realtime: start + 30_000, monotonic: 1_030_000 }, 60),
      );
    },
  },
  {
    name: "hosts with systemd 257, each with another compression, in every kind of file",
    soundClocks: true,
    write({ directory }) {
      for (const { name, machine, compact, keyedHash } of hostFixtures) {
        const user = (compact ? 0 : 1) + (keyedHash ? 0 : 2);
        mkdirSync(join(directory, machine), { recursive: true });
        writeFileSync(
          join(directory, machine, user === 0 ? "system.journal" : `user-${1000 + user}.journal`),
          readFixture(name),
        );
      }
    },
  },
  {
    name: "values and a field with the hashes of others",
    soundClocks: true,
    isForUnkeyed: true,
    write({ random, append, rotate }) {
      const clock = { bootId: firstBoot, realtime: start, monotonic: 1 };
      append("system.journal", collidingEntries(random, clock, "forged"));
      const later = { ...clock, realtime: start + hourMicros, monotonic: 1 + hourMicros };
      rotate("system.journal", everyday(random, later, 40));
      append(
        "user-1000.journal",
        collidingEntries(random, { ...clock, realtime: start + 777, monotonic: 778 }, "honest"),
      );
    },
  },
  {
    name: "entries that are alike but for one field",
    soundClocks: true,
    write: ({ append }) => append("system.journal", alikeEntries),
  },
  {
    name: "hostile values in every field",
    soundClocks: true,
    write: ({ random, append }) => append("system.journal", hostileEntries(random, 1_000)),
  },
  {
    // As the tests write them themselves, which the fuzzer and others do.
    name: "small files of each kind, with crowded hash tables",
    soundClocks: true,
    write({ random, directory }) {
      let at = 0;
      const add = (entries: readonly (readonly Field[])[], kind: FileKind, packing?: Packing): void => {
        const clock = { bootId: firstBoot, realtime: start + at * hourMicros, monotonic: 1 + at * hourMicros };
        const [fileId, seqnumId] = [0xf0, 0x50].map((byte) => Buffer.alloc(16, byte + at));
        const options = { fileId, seqnumId, ...(packing && { packing }) };
        const path = join(directory, `system@${at}.journal`);
        writeFileSync(path, smallJournal(timed(random, clock, entries), kind, options));
        const { status, stderr } = runJournalctl(["--verify", "--file", path]);
        if (status !== 0) throw new Error(`journalctl finds faults in ${path}: ${stderr}`);
        at += 1;
      };
      for (const kind of allKinds) add(messageEntries, kind);
      for (const { messages, ...packing } of (["LZ4", "XZ"] as const).map(packedMessages)) {
        const entries = messages.map((message) => [["MESSAGE", message] as const]);
        add(entries, { compact: true, keyedHash: true, compress: true }, packing);
      }
    },
  },
  { name: "a directory without journals", soundClocks: true, write: () => undefined },
  {
    name: "a clock that jumps back, and files rotated at the jumps",
    soundClocks: false,
    write({ random, append, rotate }) {
      const at = (realtime: number, monotonic: number, count: number): readonly NewEntry[] =>
        everyday(random, { bootId: firstBoot, realtime, monotonic }, count);
      append("system.journal", at(start, 1_000, 60));
      rotate("system.journal", at(start - 10 * hourMicros, hourMicros, 60));
      rotate("system.journal", at(start + hourMicros, 2 * hourMicros, 60));
    },
  },
  {
    // journald before version 254 looks only at the clock that it has seen itself: after a boot with a wrong clock it continues in the file.
    name: "a clock that jumps back between the boots of one file",
    soundClocks: false,
    write({ random, append }) {
      for (const [position, jump] of [0, -5, 3, -30].entries()) {
        const clock = { bootId: boots[position] ?? "", realtime: start + jump * hourMicros, monotonic: 1_000 };
        append("system.journal", everyday(random, clock, 45));
      }
    },
  },
  {
    // The writer for other machines' journals takes entries as they come, also within a boot.
    name: "a clock that jumps back inside one boot of one file",
    soundClocks: false,
    write({ random, append }) {
      for (const [position, jump] of [0, -2, 1, -30, 3].entries()) {
        const clock = {
          bootId: position < 3 ? firstBoot : secondBoot,
          realtime: start + jump * hourMicros,
          monotonic: 1_000 + (position % 3) * hourMicros,
        };
        append("remote.journal", everyday(random, clock, 40));
      }
    },
  },
];

/** Which of several copies journalctl shows is its own affair, so these are compared but for that. */
export const copiesCorpora: readonly Corpus[] = [
  {
    name: "entries that several files of other sequences hold too",
    soundClocks: true,
    write({ random, append, rotate }) {
      const entries = everyday(random, { bootId: firstBoot, realtime: start, monotonic: 1 }, 240);
      append("system.journal", entries.slice(0, 120));
      rotate("system.journal", entries.slice(120));
      append("partly.journal", entries.slice(60, 180));
      append(
        `${firstMachine}/system.journal`,
        entries.filter((_, at) => at % 3 === 0),
      );
      append("few.journal", entries.slice(100, 102));
      append("later.journal", everyday(random, { bootId: secondBoot, realtime: start, monotonic: 1 }, 40));
    },
  },
  {
    name: "entries that files of several formats hold, some twice",
    soundClocks: true,
    write({ random, append, rotate, directory }) {
      const entries = everyday(random, { bootId: firstBoot, realtime: start, monotonic: 1 }, 240);
      const twice = entries.flatMap((each, at) => (at % 7 === 0 ? [each, each] : [each]));
      const compact = { compact: true, keyedHash: true, compress: false };
      const appendCompact = (file: string, some: readonly NewEntry[]): void =>
        appendToJournal(join(directory, file), compact, some.map(encodeEntry));
      append("system.journal", twice.slice(0, 90));
      rotate("system.journal", twice.slice(90, 150));
      appendCompact("part.journal", twice.slice(50, 220));
      appendCompact("other.journal", twice.slice(200));
      appendCompact(
        "few.journal",
        twice.filter((_, at) => at % 3 === 0),
      );
    },
  },
];

/** The kinds of file that journald writes or has written; the first is what it writes by default. */
type NamedKind = FileKind & { readonly name: string };

export const fileKinds: readonly [NamedKind, ...NamedKind[]] = [
  { name: "compact, keyed, zstd", compact: true, keyedHash: true, compress: true },
  { name: "regular, Jenkins, zstd", compact: false, keyedHash: false, compress: true },
  { name: "regular, keyed, zstd", compact: false, keyedHash: true, compress: true },
  { name: "compact, Jenkins, zstd", compact: true, keyedHash: false, compress: true },
  { name: "compact, keyed, not compressed", compact: true, keyedHash: true, compress: false },
];

const allKinds: readonly FileKind[] = [true, false].flatMap((compact) =>
  [true, false].flatMap((keyedHash) => [true, false].map((compress) => ({ compact, keyedHash, compress }))),
);

export interface JournalDirectory {
  readonly path: string;
  readonly remove: () => void;
}

/** A temporary directory, and the writer that fills it: with the same for the same seed but for the ids of the files, which are made up. */
export function createDirectory(kind: FileKind, seed = 1): JournalDirectory & { readonly writer: Writer } {
  const path = mkdtempSync(join(tmpdir(), "steward-journals-"));
  const append = (file: string, entries: readonly NewEntry[]): void => {
    mkdirSync(join(path, file, ".."), { recursive: true });
    // The writer takes only names that end in `.journal`.
    const written = join(path, `${file}.new.journal`);
    const target = file.endsWith(".journal") ? join(path, file) : written;
    appendToJournal(target, kind, entries.map(encodeEntry));
    if (target === written) {
      copyFileSync(written, join(path, file));
      rmSync(written);
    }
  };
  const rotate = (file: string, entries: readonly NewEntry[]): void => {
    const full = join(path, file);
    const directory = join(full, "..");
    const before = new Set(readdirSync(directory));
    const dataCount = readHeaderField(full, "dataCount");
    // The writer rotates a file whose hash table is three quarters full, and looks before it writes.
    writeHeaderField(full, "dataCount", readHeaderField(full, "dataHashTableSize"));
    append(file, entries);
    const [archived, ...others] = readdirSync(directory).filter((each) => !before.has(each));
    if (archived === undefined || others.length > 0) throw new Error(`the writer did not rotate ${file}`);
    writeHeaderField(join(directory, archived), "dataCount", dataCount);
  };
  return {
    path,
    writer: { random: createRandom(seed), append, rotate, directory: path },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** A temporary directory with the corpus in it. */
export function writeCorpus(corpus: Corpus, kind: FileKind, seed = 1): JournalDirectory {
  const { writer, ...directory } = createDirectory(kind, seed);
  corpus.write(writer);
  return directory;
}
