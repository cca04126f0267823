import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createEngine, type Engine } from "#adapters/journald/engine.ts";
import { fileKinds } from "../journals/corpora.ts";
import { boots, everyday, start } from "../journals/entries.ts";
import { answerOf, everything } from "../journals/known.ts";
import { anatomyOf } from "../journals/mutations.ts";
import { smallJournal } from "../journals/small-journal.ts";
import { createRandom } from "../support/random.ts";

const entries = everyday(createRandom(1), { bootId: boots[0] ?? "", realtime: start, monotonic: 1 }, 40);

/** The journal as it is while journald writes its last entry: it is counted, and only the first of its fields know of it. */
function halfWritten(journal: Buffer, linked: number): Buffer {
  const { bytes, objects, isCompact } = anatomyOf(Buffer.from(journal));
  const last = objects.findLast(({ type }) => type === 3);
  if (last === undefined) throw new Error("no entry");
  const itemSize = isCompact ? 4 : 16;
  for (let at = last.offset + 64 + linked * itemSize; at < last.offset + last.size; at += itemSize) {
    const data = isCompact ? bytes.readUInt32LE(at) : Number(bytes.readBigUInt64LE(at));
    const count = bytes.readBigUInt64LE(data + 56) - 1n;
    bytes.writeBigUInt64LE(count, data + 56);
    if (count === 0n) bytes.writeBigUInt64LE(0n, data + 40);
  }
  return bytes;
}

it.each(fileKinds)("an entry that was read half written is found by all of its fields later: $name", (kind) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "steward-half-"));
  const path = join(folder.path, "system.journal");
  const journal = smallJournal(entries, kind);
  const roots = [{ path: folder.path }];
  const totals = (engine: Engine): readonly number[] => {
    const { unit = "", identifier = "" } = answerOf(engine, everything).logs.at(-1) ?? {};
    const filters = [{ units: [unit] }, { identifier }, { priority: 6 }, { grep: "request|x" }];
    return filters.map((filter) => answerOf(engine, { ...everything, ...filter }).total);
  };
  for (const linked of [0, 3]) {
    const engine = createEngine({ roots });
    writeFileSync(path, halfWritten(journal, linked));
    const before = totals(engine);
    writeFileSync(path, journal);
    const fresh = createEngine({ roots });
    const expected = totals(fresh);
    expect(before).not.toEqual(expected);
    expect(totals(engine)).toEqual(expected);
    engine.dispose();
    fresh.dispose();
  }
});
