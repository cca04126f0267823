import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { createFollower } from "#adapters/journald/follower.ts";
import { parseCursor } from "#adapters/journald/order.ts";
import { createRegistry } from "#adapters/journald/registry.ts";
import type { LogEntry } from "#contract/log-entry.ts";
import type { NewEntry } from "../journals/export-format.ts";
import { answerOf, everything } from "../journals/known.ts";
import { smallJournal } from "../journals/small-journal.ts";
import { byBreadth } from "../support/breadth.ts";

const numRuns = byBreadth(20, 150);
const start = 1_700_000_000_000_000;
const kind = { compact: true, keyedHash: true, compress: false };

/** A file of a directory: a part of a stream of entries, under numbers of its own. */
interface File {
  readonly name: string;
  readonly sequence: number;
  readonly firstSeqnum: number;
  readonly entries: readonly NewEntry[];
}

interface Directory {
  readonly files: readonly File[];
  /** All messages of the directory; each is there once, however many files hold it. */
  readonly messages: readonly string[];
}

const entryOf = (boot: number, message: string, realtime: number, monotonic: number): NewEntry => ({
  bootId: String(boot).repeat(32),
  realtime,
  monotonic,
  fields: [["MESSAGE", message]],
});

/** What one boot of one host writes: many entries of one time, and times that other hosts have too. */
const stream = (host: number, unitMicros: number, sizes: fc.ArrayConstraints = {}): fc.Arbitrary<readonly NewEntry[]> =>
  fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 40, ...sizes }).map((steps) => {
    let at = 0;
    return steps.map((step, position) => {
      at += step * unitMicros;
      return entryOf(host, `${host}:${position}`, start + at, 1_000 + at);
    });
  });

const inMemory = `${"a".repeat(32)}/system.journal`;
const namesOf = (files: readonly Omit<File, "name">[]): readonly File[] =>
  files.map((file, position) => ({ ...file, name: position === 0 ? "system.journal" : `user-${position}.journal` }));

const whole = (files: readonly Omit<File, "name">[]): Directory => ({
  files: namesOf(files.filter(({ entries }) => entries.length > 0)),
  messages: [...new Set(files.flatMap(({ entries }) => entries.map(({ fields }) => String(fields[0]?.[1]))))],
});

const hosts = (count: number, unitMicros: number): fc.Arbitrary<Directory> =>
  fc
    .tuple(...Array.from({ length: count }, (_, host) => stream(host + 1, unitMicros)))
    .map((streams) => whole(streams.map((entries, sequence) => ({ sequence, firstSeqnum: 1, entries }))));

/** Each entry of a boot is in one of four files, of one sequence or each of its own. */
const spread = fc
  .tuple(stream(1, 1), fc.infiniteStream(fc.integer({ min: 0, max: 3 })), fc.boolean())
  .map(([entries, choices, isOneSequence]) => {
    const files = [0, 1, 2, 3].map((): NewEntry[] => []);
    for (const entry of entries) files[choices.next().value]?.push(entry);
    let firstSeqnum = 1;
    return whole(
      files.map((own, sequence) => {
        const file = { sequence: isOneSequence ? 9 : sequence, firstSeqnum, entries: own };
        firstSeqnum += own.length;
        return file;
      }),
    );
  });

/** Three files that each hold a part, as is left when copying is cut off. */
const partial = fc
  .tuple(stream(1, 1), fc.array(fc.tuple(fc.nat(40), fc.nat(40)), { minLength: 2, maxLength: 2 }))
  .map(([entries, parts]) =>
    whole([
      { sequence: 0, firstSeqnum: 1, entries },
      ...parts.map(([from, to], position) => ({
        sequence: position + 1,
        firstSeqnum: 100,
        entries: entries.slice(Math.min(from, to), Math.max(from, to)),
      })),
    ]),
  );

const asItIs = (entry: NewEntry): NewEntry => entry;
const rehashed = (entry: NewEntry, at: number): NewEntry =>
  at % 3 === 0 ? { ...entry, fields: [...entry.fields, ["ADDED", "while it was copied"]] } : entry;

/** As journald from systemd 254 on moves entries from memory to the disk: same sequence, new numbers; and it continues there. */
const renumbered = (isHashKept: boolean): fc.Arbitrary<Directory> =>
  fc.tuple(stream(1, 1), fc.nat(40), fc.nat(40), stream(2, 1)).map(([entries, original, copied, other]) => {
    const length = Math.min(original, entries.length);
    const files = [
      { sequence: 1, firstSeqnum: 1, entries: entries.slice(0, length) },
      {
        sequence: 1,
        firstSeqnum: 1 + length,
        entries: entries.slice(0, Math.max(copied, length)).map(isHashKept ? asItIs : rehashed),
      },
      { sequence: 0, firstSeqnum: 1, entries: other },
    ];
    const { files: named, messages } = whole(files);
    // Memory is another directory than the disk.
    const moved = named.map((file) =>
      file.sequence === 1 && file.firstSeqnum === 1 ? { ...file, name: inMemory } : file,
    );
    return { files: moved, messages };
  });

/** The clock of a boot is set back again and again, and journald begins a new file each time, in which another boot may follow. */
const jumping = fc
  .tuple(
    fc.array(fc.tuple(stream(1, 1), fc.integer({ min: -60, max: 60 }), fc.boolean()), { minLength: 1, maxLength: 6 }),
    stream(9, 2),
    fc.boolean(),
  )
  .map(([runs, other, isOneSequence]) => {
    let boot = 1;
    let uptime = 0;
    let firstSeqnum = 1;
    const files = runs.map(([entries, jump, isReboot], position) => {
      if (isReboot) [boot, uptime] = [boot + 1, 0];
      const [began, first] = [uptime, firstSeqnum];
      firstSeqnum += entries.length;
      return {
        sequence: isOneSequence ? 1 : position + 1,
        firstSeqnum: first,
        entries: entries.map(({ realtime, monotonic }, at) => {
          uptime = began + monotonic;
          return entryOf(boot, `${position}:${at}`, realtime + jump, uptime);
        }),
      };
    });
    return whole([...files, { sequence: 0, firstSeqnum: 1, entries: other }]);
  });

const directories: Readonly<Record<string, fc.Arbitrary<Directory>>> = {
  "two hosts with entries of the same microseconds": hosts(2, 1),
  "three hosts that write whole seconds": hosts(3, 1_000_000),
  "one boot in four files": spread,
  "copies of parts in three files": partial,
  "copies with new numbers": renumbered(true),
  "copies with new numbers and other hashes": renumbered(false),
  "clocks that are set back": jumping,
};

const written = <T>({ files }: Directory, use: (path: string) => T): T => {
  const path = mkdtempSync(join(tmpdir(), "steward-paging-"));
  try {
    for (const [position, { name, sequence, firstSeqnum, entries }] of files.entries()) {
      const seqnumId = Buffer.alloc(16, 0x50 + sequence);
      const fileId = Buffer.alloc(16, 0xf0 - position);
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), smallJournal(entries, kind, { seqnumId, firstSeqnum, fileId }));
    }
    return use(path);
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
};

const withEngine = <T>(directory: Directory, use: (engine: Engine) => T): T =>
  written(directory, (path) => {
    const engine = createEngine({ roots: [{ path }] });
    try {
      return use(engine);
    } finally {
      engine.dispose();
    }
  });

const messagesOf = (entries: readonly LogEntry[]): readonly string[] => entries.map(({ message }) => message);

/** All that paging gives, each page as long as it may be; more than there can be, if it does not end. */
function paged(engine: Engine, order: "asc" | "desc", limit: number, most: number, from?: string): readonly LogEntry[] {
  const found: LogEntry[] = [];
  for (let cursor = from; found.length <= most; ) {
    const { logs, next_cursor: next } = answerOf(engine, { ...everything, order, limit, cursor });
    found.push(...logs);
    if (logs.length === 0 || next === null) break;
    cursor = next;
  }
  return found;
}

describe.each(Object.entries(directories))("the journal of %s", (_, directory) => {
  const limits = fc.integer({ min: 1, max: 9 });

  it("is paged through with each entry once, in both directions", () => {
    fc.assert(
      fc.property(directory, limits, (made, limit) =>
        withEngine(made, (engine) => {
          const all = answerOf(engine, everything).logs;
          expect(messagesOf(all).toSorted()).toEqual(made.messages.toSorted());
          const back = paged(engine, "desc", limit, all.length);
          expect(back).toEqual(all.toReversed());
          const [first] = all;
          if (first === undefined) return;
          expect([first, ...paged(engine, "asc", limit, all.length, first.cursor)]).toEqual(all);
        }),
      ),
      { numRuns },
    );
  });

  it("gives a stream that begins after an entry all later ones, once", () => {
    fc.assert(
      fc.property(directory, fc.nat(200), (made, position) =>
        written(made, (path) => {
          const engine = createEngine({ roots: [{ path }] });
          const registry = createRegistry([{ path }], () => undefined);
          try {
            const all = answerOf(engine, everything).logs;
            const at = all.length === 0 ? 0 : position % all.length;
            const after = parseCursor(all[at]?.cursor ?? "");
            if (after === undefined) return;
            const follower = createFollower(registry, { after });
            const found: LogEntry[] = [];
            for (let more = follower.next(); more.length > 0; more = follower.next()) {
              found.push(...more.map(({ entry }) => entry));
            }
            expect(messagesOf(found)).toEqual(messagesOf(all.slice(at + 1)));
          } finally {
            engine.dispose();
            registry.dispose();
          }
        }),
      ),
      { numRuns },
    );
  });
});
